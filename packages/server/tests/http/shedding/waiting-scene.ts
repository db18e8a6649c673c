import { PRIORITIES, type Priority } from '../../../src/http/shedding/priority.ts'
import {
  type Standing,
  type WaitingRequest,
  WaitingRequests,
} from '../../../src/http/shedding/waiting-requests.ts'

export interface Request extends WaitingRequest {
  readonly name: number
}

/** A queue on a clock that the test moves, and the fate of every request. */
export function scene(max?: number) {
  const waiting = new WaitingRequests<Request>(max)
  let nowMs = 0
  let name = 0
  const served: Request[] = []
  const rejected: Request[] = []
  const reject = (request: Request | undefined) => request && rejected.push(request)
  return {
    waiting,
    served,
    rejected,
    now: () => nowMs,
    add(
      priority: Priority,
      { standing = 'within', flow = 'a' }: { standing?: Standing; flow?: string } = {},
    ): Request {
      const request = { priority, standing, flow, arrivedMs: nowMs, name: name++ }
      reject(waiting.add(request))
      return request
    },
    /** One turn: serves some requests, and rejects what of the others has waited too long. */
    turn(capacity: number, turnMs = 0) {
      for (let index = 0; index < capacity; index++) {
        const request = waiting.next(nowMs)
        if (request !== undefined) served.push(request)
      }
      for (const request of waiting.expired(nowMs, turnMs)) reject(request)
    },
    advance(ms: number) {
      nowMs += ms
    },
  }
}

export const count = (requests: readonly Request[], priority: Priority) =>
  requests.filter((request) => request.priority === priority).length

/** A millisecond of the overload: one request of each priority, and room for some of them. */
export function overload(
  s: ReturnType<typeof scene>,
  { ms, capacity }: { ms: number; capacity: number },
) {
  for (let passed = 0; passed < ms; passed++) {
    for (const priority of PRIORITIES) s.add(priority)
    s.turn(capacity)
    s.advance(1)
  }
}
