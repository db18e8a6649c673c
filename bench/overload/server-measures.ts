import { subscribe } from 'node:diagnostics_channel'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { constants, PerformanceObserver } from 'node:perf_hooks'
import { sharedNowMs } from '../process.ts'
import { type CountedMs, Durations } from './durations.ts'

/** What a node measures of its own rejections and memory since the last report. */
export interface ServerMeasures {
  /** From the parsed headers of a request until its 503 was written. */
  readonly shedMs: readonly CountedMs[]
  /** The heap in use after each full collection, in bytes, with its time in seconds. */
  readonly collected: readonly (readonly [seconds: number, bytes: number])[]
  /** Bytes now, by the parts of a Node process. */
  readonly memory: NodeJS.MemoryUsage
}

const OVERLOADED = 503

/** Starts to measure this process. */
export function measureServer(): () => ServerMeasures {
  const arrivedMs = new WeakMap<ServerResponse, number>()
  const shed = new Durations()
  let collected: [number, number][] = []
  const start = (message: unknown) => {
    const { response } = message as { request: IncomingMessage; response: ServerResponse }
    arrivedMs.set(response, performance.now())
  }
  const finish = (message: unknown) => {
    const { response } = message as { response: ServerResponse }
    const startedMs = arrivedMs.get(response)
    // Only a rejection is written without the headers of Fastify. A call that was admitted and has
    // timed out has the same status.
    const isRejection = response.statusCode === OVERLOADED && response.getHeaderNames().length === 0
    if (isRejection && startedMs !== undefined) shed.add(performance.now() - startedMs)
  }
  subscribe('http.server.request.start', start)
  subscribe('http.server.response.finish', finish)
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      // The types know the detail of no entry. Those of `gc` have this one.
      const { detail } = entry as unknown as { detail: { kind: number } }
      if (detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR)
        collected.push([sharedNowMs() / 1_000, process.memoryUsage().heapUsed])
    }
  }).observe({ entryTypes: ['gc'] })
  return () => {
    const measures = { shedMs: shed.take(), collected, memory: process.memoryUsage() }
    collected = []
    return measures
  }
}
