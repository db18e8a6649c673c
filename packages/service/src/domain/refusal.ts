import type { Reason, Unreadiness } from '@bonded/contract'

/** Why something is not done. Data, not an exception: the edge decides what a caller may learn of it. */
export interface Refusal {
  readonly reason: Reason
  /** The member, parameter or header at fault. */
  readonly param?: string
  /** The exact check that refused, for the timeline. It never goes to a phone or a browser. */
  readonly step?: string
  /** The service's time, where the caller's clock is at fault. Milliseconds since the epoch. */
  readonly serverTime?: number
  /** What keeps the service from being ready. */
  readonly unready?: readonly Unreadiness[]
  /** Until it can be tried again, where a limit refused. */
  readonly retryAfterMs?: number
}

/** Either the value or the refusal. */
export type Result<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly refusal: Refusal }

/** A value. */
export function accept<T>(value: T): Result<T> {
  return { ok: true, value }
}

/** A refusal. */
export function refuse(
  reason: Reason,
  detail: Omit<Refusal, 'reason'> = {},
): { readonly ok: false; readonly refusal: Refusal } {
  return { ok: false, refusal: { reason, ...detail } }
}
