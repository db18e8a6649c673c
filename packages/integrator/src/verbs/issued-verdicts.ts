import { GateError } from '../errors.ts'
import { deepFreeze } from './deep-freeze.ts'
import type { AcceptVerdict, ReviewVerdict, Unissued } from './verdict.ts'

/**
 * How long a verdict can be used, in milliseconds, unless its session ends sooner. Long enough to
 * wait for a transaction; short enough that a session killed meanwhile is verified again.
 */
export const VERDICT_TTL_MS = 30_000

/** The gate's own record of a verdict that it issued. */
export interface IssuedVerdict {
  readonly session_id: string
  readonly owner: string
  /** The end of its lifetime, on the gate's clock. */
  readonly expiresAtMs: number
}

/** The verdicts of one gate. */
export interface IssuedVerdicts {
  /** Freezes the verdict at every depth and records it; it can be used until `expiresAtMs`. */
  issue(verdict: Unissued, expiresAtMs: number): AcceptVerdict | ReviewVerdict
  /** @throws {GateError} `verdict_invalid` for anything that this gate did not issue */
  recall(verdict: unknown): IssuedVerdict
}

/**
 * Stores the facts of each verdict by identity. An object that was assembled, copied,
 * parsed, or issued by a gate with another policy has no facts here, so nothing can be used with
 * it.
 */
export function issuedVerdicts(): IssuedVerdicts {
  const issued = new WeakMap<object, IssuedVerdict>()
  return {
    issue(verdict, expiresAtMs) {
      const { session_id, owner } = verdict
      // The brand is a type only: being recorded here is what makes a verdict one.
      const branded = deepFreeze(verdict) as AcceptVerdict | ReviewVerdict
      issued.set(branded, { session_id, owner, expiresAtMs })
      return branded
    },
    recall(verdict) {
      const facts =
        typeof verdict === 'object' && verdict !== null ? issued.get(verdict) : undefined
      if (facts !== undefined) return facts
      throw new GateError(
        'verdict_invalid',
        'Use takes an accept or review verdict of this gate’s own verify, not a copy of one.',
      )
    },
  }
}
