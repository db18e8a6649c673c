import { ENDPOINTS } from '@bonded/contract'
import { accept } from '@bonded/core/domain/rejection'
import { fetchEvidence } from '@bonded/core/operations/phone/fetch-evidence'
import { serve } from '../serve.ts'

export const fetchEvidenceRoute = serve(
  ENDPOINTS.fetchEvidence,
  async ({ service, caller, body }) => {
    const evidence = await fetchEvidence(service, caller, body)
    return evidence.ok ? accept(['evidence', { verified_evidence: evidence.value }]) : evidence
  },
)
