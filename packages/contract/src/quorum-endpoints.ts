import { BODY_LIMITS } from './body-limits.ts'
import { CREATE_REJECTIONS } from './create-reasons.ts'
import { define } from './endpoint.ts'
import { closed, id } from './schemas/primitives.ts'
import { CreatedQuorum, CreateQuorumRequest, Quorum } from './schemas/quorum.ts'
import { CreateHeaders } from './schemas/session.ts'

export const QUORUM_PATH_IDS = { quorum_id: 'quo' } as const

/** The endpoints of a request that several people approve. */
export const QUORUM_ENDPOINTS = {
  createQuorum: define({
    method: 'POST',
    path: '/api/v1/quorums',
    status: 201,
    // Safe to repeat with the same `Idempotency-Key`.
    retry: 'repeat',
    priority: 'new',
    summary: 'Creates a session in the inbox of each person of a quorum: all of them, or none.',
    callers: ['backend'],
    limits: ['create'],
    headers: CreateHeaders,
    body: { schema: CreateQuorumRequest, limitBytes: BODY_LIMITS.create },
    responses: { created: CreatedQuorum },
    rejections: CREATE_REJECTIONS,
  }),
  getQuorum: define({
    method: 'GET',
    path: '/api/v1/quorums/{quorum_id}',
    // A backend reads it before it acts.
    priority: 'begun',
    summary: 'Reads all sessions of a quorum at one instant, with their verifications.',
    callers: ['backend'],
    limits: ['backend'],
    params: closed({ quorum_id: id(QUORUM_PATH_IDS.quorum_id) }),
    responses: { quorum: Quorum },
    rejections: ['session_not_found'],
  }),
} as const
