import { ENDPOINTS, withoutNulls } from '@bonded/contract'
import { iso } from '@bonded/core/domain/iso'
import { mapResult } from '@bonded/core/domain/rejection'
import type { Session } from '@bonded/core/domain/session'
import type { Service } from '@bonded/core/operations/service'
import {
  createQuorum,
  type QuorumRequest,
  readQuorum,
} from '@bonded/core/operations/session/quorum'
import {
  completionSecretOf,
  viewForBackend,
  viewInQuorum,
} from '@bonded/core/operations/session/session-view'
import { presentCreated, presentFull } from '../response/present.ts'
import { serve } from '../serve.ts'

export const createQuorumRoute = serve(
  ENDPOINTS.createQuorum,
  async ({ service, caller, body, headers }) => {
    const created = await createQuorum(service, caller, {
      request: { ...withoutNulls(body), context: withoutNulls(body.context) } as QuorumRequest,
      idempotencyKey: headers['idempotency-key'],
    })
    return mapResult(created, (sessions) => [
      'created',
      presentQuorum(service, sessions, (each) =>
        presentCreated(
          service.settings,
          viewForBackend(service, each),
          completionSecretOf(service, each),
        ),
      ),
    ])
  },
)

export const getQuorumRoute = serve(ENDPOINTS.getQuorum, async ({ service, caller, params }) =>
  mapResult(await readQuorum(service, caller, params.quorum_id), (sessions) => [
    'quorum',
    presentQuorum(service, sessions, (each) =>
      presentFull(service.settings, viewInQuorum(service, each)),
    ),
  ]),
)

/** Presents the sessions of a quorum, with the rule that all of them have. */
function presentQuorum<View>(
  { clock }: Service,
  sessions: readonly Session[],
  present: (session: Session) => View,
) {
  const { id = '', needed = 0, of = 0 } = sessions[0]?.context?.quorum ?? {}
  return {
    quorum_id: id,
    needed,
    of,
    server_time: iso(clock.now()),
    sessions: sessions.map(present),
  }
}
