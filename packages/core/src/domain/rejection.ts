import type { Reason, Unreadiness } from '@bonded/contract'

/**
 * Why an operation is rejected. Data, not an exception: the HTTP layer decides what the caller may
 * learn.
 */
export interface Rejection {
  readonly reason: Reason
  /** The member, parameter or header at fault. */
  readonly param?: string
  /** A sentence for the caller that says what is wrong with the member, after the message. */
  readonly detail?: string
  /** The exact check that rejected, for the timeline. It never goes to a phone or a browser. */
  readonly step?: string
  /** The service's time in milliseconds since the epoch, if the caller's clock is wrong. */
  readonly serverTime?: number
  /** When the backend reported first what came of an approval, in milliseconds since the epoch. */
  readonly reportedAt?: number
  /** The failing readiness checks. */
  readonly unready?: readonly Unreadiness[]
  /** Milliseconds until a retry can succeed, if a limit rejected the call. */
  readonly retryAfterMs?: number
}

/** Either the value or the rejection. */
export type Result<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly rejection: Rejection }

/** A value. */
export function accept<T>(value: T): Result<T> {
  return { ok: true, value }
}

/** The rejection, or a value made from the value. */
export function mapResult<T, U>(result: Result<T>, make: (value: T) => U): Result<U> {
  return result.ok ? accept(make(result.value)) : result
}

/** A rejection. */
export function reject(
  reason: Reason,
  detail: Omit<Rejection, 'reason'> = {},
): { readonly ok: false; readonly rejection: Rejection } {
  return { ok: false, rejection: { reason, ...detail } }
}
