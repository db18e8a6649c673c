import type { ShedPriority, ShedStanding } from '@bonded/core/ports/meter'
import {
  type WaitingRequest,
  WaitingRequests,
} from '../../../src/http/shedding/waiting-requests.ts'

export interface Request extends WaitingRequest {
  readonly name: number
}

/** A queue on a clock that the test moves, and the fate of every request. */
export function scene() {
  const waiting = new WaitingRequests<Request>()
  let nowMs = 0
  let name = 0
  const served: Request[] = []
  const rejected: Request[] = []
  return {
    waiting,
    served,
    rejected,
    now: () => nowMs,
    add(
      priority: ShedPriority,
      { standing = 'within', flow = 'a' }: { standing?: ShedStanding; flow?: string } = {},
    ): Request {
      const request = { priority, standing, flow, arrivedMs: nowMs, name: name++ }
      if (!waiting.add(request)) rejected.push(request)
      return request
    },
    /** One turn: serves what the free part of the store allows, and rejects what is late. */
    turn(free = 1) {
      served.push(...waiting.take(free))
      rejected.push(...waiting.expired(nowMs))
    },
    advance(ms: number) {
      nowMs += ms
    },
  }
}

export const count = (requests: readonly Request[], priority: ShedPriority) =>
  requests.filter((request) => request.priority === priority).length

/** Half of a turn for each priority that is named. */
export const PER_PRIORITY = 16

/** Turns of 10 ms, each with twice what it can serve. Most of that is new work. */
export function overload(
  s: ReturnType<typeof scene>,
  {
    turns,
    priorities = ['begun', 'new', 'new', 'new'],
  }: { turns: number; priorities?: readonly ShedPriority[] },
) {
  for (let turn = 0; turn < turns; turn++) {
    for (const priority of priorities)
      for (let index = 0; index < PER_PRIORITY; index++) s.add(priority)
    s.turn()
    s.advance(10)
  }
}
