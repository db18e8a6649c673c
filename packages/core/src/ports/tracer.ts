import type { Reason, RequestId, SessionId, TenantId } from '@bonded/contract'
import type { CarrierProvider } from './carrier.ts'
import type { AssertionVerifiers, AttestationVerifiers } from './devices.ts'
import type { RouteName } from './meter.ts'
import type { PassportVerifier } from './passports.ts'
import type { Store } from './store.ts'

/** What can take long in a request. */
export interface TimedParts {
  readonly store: Store
  readonly assertionVerifiers: AssertionVerifiers
  readonly attestationVerifiers: AttestationVerifiers
  readonly carrier: CarrierProvider
  readonly passports: PassportVerifier
}

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
  /** Returns the same parts for one request, which record the time that they take. */
  timed(requestId: RequestId, parts: TimedParts): TimedParts
  /** Records a request with its parts. */
  responded(request: TracedRequest): void
}
