import { ENDPOINTS } from '@bonded/contract'
import { accept } from '../../domain/refusal.ts'
import { fetchEvidence } from '../../operations/fetch-evidence.ts'
import { serve } from '../serve.ts'

export const fetchEvidenceRoute = serve(
  ENDPOINTS.fetchEvidence,
  async ({ service, caller, body }) => {
    const evidence = await fetchEvidence(service, caller, body)
    return evidence.ok ? accept(['evidence', { verified_evidence: evidence.value }]) : evidence
  },
)
