import { promptFailureOf } from '@bonded/contract'
import { isRejection, PhoneError } from '@bonded/phone'
import { StorageFailure } from './device-store.ts'
import { AFTER_PROMPT, FIRST_ASKS, OF_FAILURE } from './failures.ts'
import type { AfterPrompt, Moment, ProblemKind } from './failures.ts'

/** A proof that this browser cannot give. */
export type Need = 'passport' | 'carrier' | 'motion' | 'other'

/** Classifies a failure. An unknown one is `unexpected`: the page invents no explanation. */
export function problemOf(failure: unknown, moment: Moment = 'open'): ProblemKind {
  if (failure instanceof StorageFailure) return 'storage_unavailable'
  if (!(failure instanceof PhoneError)) return 'unexpected'
  const after = afterPrompt(failure, moment)
  if (after !== undefined && after !== 'ask') return after
  const { code, reason = '', status = 0 } = failure
  const name = code === 'refused' ? reason : code
  if (Object.hasOwn(OF_FAILURE, name)) return OF_FAILURE[name]!
  return status >= 500 ? 'busy' : 'unexpected'
}

/** What follows a failed prompt of the browser; undefined after any other failure. */
export function afterPrompt(
  failure: unknown,
  moment: Moment,
  isFirst = false,
): AfterPrompt | undefined {
  if (!(failure instanceof PhoneError) || !PROMPT_CODES.includes(failure.code)) return undefined
  const failed = promptFailureOf(failure.reason ?? '')
  return isFirst && FIRST_ASKS[moment]?.includes(failed) ? 'ask' : AFTER_PROMPT[moment][failed]
}

const PROMPT_CODES: readonly string[] = ['user_verification_failed', 'authenticator_unusable']

const NEED_OF_KIND: Readonly<Record<string, Need>> = {
  passport_chip: 'passport',
  carrier: 'carrier',
  sensor_continuity: 'motion',
}

/** The proof whose absence stopped an approval; null where another problem did. */
export function needOf(failure: unknown): Need | null {
  if (!(failure instanceof PhoneError) || failure.code !== 'step_up_unsupported') return null
  const kind = failure.reason ?? ''
  return (Object.hasOwn(NEED_OF_KIND, kind) ? NEED_OF_KIND[kind] : undefined) ?? 'other'
}

/** Whether the user confirmed no passkey, or none that the service accepts. Browsers hide which. */
export function isNotRecovered(failure: unknown): boolean {
  return afterPrompt(failure, 'recover') === 'ask' || isRejection(failure, 'assertion_invalid')
}
