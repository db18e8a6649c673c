import type { Result } from '../../src/domain/refusal.ts'

/** `ok`, the step that refused, or the reason of a refusal without a step. */
export function wordOf(result: Result<unknown>): string {
  return result.ok ? 'ok' : (result.refusal.step ?? result.refusal.reason)
}
