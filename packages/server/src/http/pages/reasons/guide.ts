import type { Reason } from '@bonded/contract'

/** Whether the caller may send the request again. */
export type Retry = 'unchanged' | 'repeatable' | 'corrected' | 'no'

/** The parts of a reason page besides the message: the likely cause, the remedy, and retrying. */
export interface ReasonGuide {
  readonly retry: Retry
  readonly cause: string
  readonly remedy: string
}

/** How a page answers "Retryable". */
export const RETRY_TEXT: Readonly<Record<Retry, string>> = {
  unchanged: 'yes, unchanged, after the time in `Retry-After` where the response has one',
  repeatable: 'as after a lost response, because the operation may have taken effect',
  corrected: 'only with a corrected request',
  no: 'no',
}

/** The guides of reasons that have the same answer to whether the caller may retry. */
export function guides<Name extends Reason>(
  retry: Retry,
  given: Readonly<Record<Name, readonly [cause: string, remedy: string]>>,
): Readonly<Record<Name, ReasonGuide>> {
  const entries = Object.entries<readonly [string, string]>(given)
  return Object.fromEntries(
    entries.map(([name, [cause, remedy]]) => [name, { retry, cause, remedy }]),
  ) as Record<Name, ReasonGuide>
}
