import type { Result } from '../../packages/core/src/domain/rejection.ts'

/** Returns `ok`, the failing step, or the reason of a rejection without a step. */
export function outcomeOf(result: Result<unknown>): string {
  return result.ok ? 'ok' : (result.rejection.step ?? result.rejection.reason)
}
