import type { Result } from '../../packages/core/src/domain/refusal.ts'

/** Returns `ok`, the failing step, or the reason of a refusal without a step. */
export function outcomeOf(result: Result<unknown>): string {
  return result.ok ? 'ok' : (result.refusal.step ?? result.refusal.reason)
}
