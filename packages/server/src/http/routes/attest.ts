import { ENDPOINTS } from '@bonded/contract'
import { accept } from '@bonded/core/domain/rejection'
import { attest } from '@bonded/core/operations/phone/attest'
import { viewForBackend, viewForPhone } from '@bonded/core/operations/session/session-view'
import { presentFull, presentPhone } from '../response/present.ts'
import { serve } from '../serve.ts'

export const attestRoute = serve(ENDPOINTS.attest, async ({ service, caller, body, address }) => {
  const attested = await attest(service, caller, { request: body, address: address() })
  if (!attested.ok) return attested
  const { settings } = service
  return caller.kind === 'phone'
    ? accept([
        'phone',
        presentPhone(settings, viewForPhone(service, attested.value, caller.device)),
      ])
    : accept(['full', presentFull(settings, viewForBackend(service, attested.value.session))])
})
