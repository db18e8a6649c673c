import type { Reason, RequestId, SessionId, TenantId } from '@bonded/contract'
import type { RouteName } from './meter.ts'

/** The parts of a request that can take long. */
export type RequestPart =
  | 'store.write'
  | 'assertion.verify'
  | 'attestation.verify'
  | 'passport.verify'
  | 'carrier.check'

/** The caller's span, from its `traceparent` header. */
export interface TraceParent {
  readonly traceId: string
  readonly spanId: string
  readonly sampled: boolean
}

/** A request that has ended. It contains only ids, words of closed lists and numbers. */
export interface TracedRequest {
  readonly requestId: RequestId
  readonly name: RouteName
  /** The route's template, never the path. */
  readonly route: string
  readonly method: string | undefined
  readonly status: number
  readonly ms: number
  readonly reason: Reason | undefined
  readonly caller: string | undefined
  readonly tenantId: TenantId | undefined
  readonly sessionId: SessionId | undefined
  readonly parent: TraceParent | undefined
}

/** Records where the time of requests goes. It never throws, and a request never waits for it. */
export interface Tracer {
  /** Begins a part of a request. @returns ends it, and tells whether it failed */
  begin(requestId: RequestId, part: RequestPart): (failed: boolean) => void
  /** Records a request with its parts. */
  responded(request: TracedRequest): void
}
