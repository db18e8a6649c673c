import { ENDPOINTS } from '@bonded/contract'
import { accept } from '../../domain/refusal.ts'
import { createSession } from '../../operations/create-session.ts'
import { presentCreated } from '../present.ts'
import { serve } from '../serve.ts'

export const createSessionRoute = serve(
  ENDPOINTS.createSession,
  async ({ service, caller, body, headers }) => {
    const created = await createSession(service, caller, {
      request: body,
      idempotencyKey: headers['idempotency-key'],
    })
    return created.ok ? accept(['created', presentCreated(service, created.value)]) : created
  },
)
