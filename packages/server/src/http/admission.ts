import type { Endpoint } from '@bonded/contract'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { authenticate } from '@bonded/core/operations/authenticate'
import type { Caller, Service } from '@bonded/core/operations/service'
import { eventLoopTurn } from './connection/event-loop-turn.ts'
import { countAround, countBadCredential, rejectExhausted } from './limits.ts'
import { Rejected } from './response/rejected.ts'
import { noteCaller } from './request-line.ts'

/** The inputs of the checks that run before and after a request's body is read. */
interface Admission {
  readonly service: Service
  readonly endpoint: Endpoint
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

/**
 * Checks everything about a request that does not need its body: the path, the credential, and the
 * limits of its caller. An anonymous caller can therefore make the service read a body only at an
 * endpoint that accepts anonymous callers, and only within that endpoint's limits.
 *
 * @throws {Rejected} with the first failure
 */
export async function admitBeforeBody(admission: Admission): Promise<void> {
  const { service, endpoint, request, reply } = admission
  // A path such as /sessions/ names no session, so it matches no endpoint.
  if (Object.values(request.params as object).includes(''))
    throw new Rejected({ reason: 'unknown_endpoint' })
  const caller = await callerOf(admission)
  request.caller = caller
  if (caller.kind === 'backend') request.server.connectionCaps.recognizeBackend(request.raw.socket)
  request.admittedWhole = request.raw.complete
  request.admittedTurn = eventLoopTurn()
  noteCaller(request, caller)
  const call = { service, request, caller }
  const exhausted = endpoint.rejections.includes('session_not_found')
    ? rejectExhausted('not_found', call, reply)
    : undefined
  const over = exhausted ?? countAround(endpoint.limits, { call, reply, isBodyRead: false })
  if (over !== undefined) throw new Rejected(over)
}

/**
 * Counts the limits that need the body, after the body has passed schema validation.
 *
 * @returns the caller
 * @throws {Rejected} with the first failure
 */
export async function admitAfterBody(admission: Admission): Promise<Caller> {
  const { service, endpoint, request, reply } = admission
  // A slow body can arrive long after the credential check, when the credential may be revoked. A
  // body that arrives in the same turn is as recent as the check: units of work run later still.
  const isRecent = request.admittedWhole === true || request.admittedTurn === eventLoopTurn()
  const caller =
    isRecent && request.caller !== undefined ? request.caller : await callerOf(admission)
  request.caller = caller
  noteCaller(request, caller)
  const call = { service, request, caller }
  const over = countAround(endpoint.limits, { call, reply, isBodyRead: true })
  if (over !== undefined) throw new Rejected(over)
  return caller
}

async function callerOf({ service, endpoint, request, reply }: Admission): Promise<Caller> {
  const { authorization, origin } = request.headers
  const caller = await authenticate(service, { authorization, origin }, endpoint)
  if (caller.ok) return caller.value
  const call = { service, request, caller: undefined }
  throw new Rejected(countBadCredential(call, caller.rejection, reply))
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Undefined until the credential is verified or the endpoint admits an anonymous caller. */
    caller?: Caller | undefined
    /** Whether the whole request had arrived when its credential was checked. */
    admittedWhole?: boolean
    /** The turn of the event loop in which the credential was checked. */
    admittedTurn?: number
  }
}
