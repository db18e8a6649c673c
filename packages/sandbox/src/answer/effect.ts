import type { Session } from '@bonded/core/domain/session'
import type { AnswerName } from '../trigger/answers.ts'

/** These approve with less than the policy requires of a phone. */
const NEED_A_REQUIREMENT: readonly AnswerName[] = [
  'bonded_after_step_up',
  'step_up_required',
  'policy_not_met',
]

/** Why an answer would approve a session that it must not; undefined if it can take effect. */
export function whyWithoutEffect(
  name: AnswerName,
  { policy, workflow }: Pick<Session, 'policy' | 'workflow'>,
): string | undefined {
  const needsPassport = name === 'passport_required'
  if (!needsPassport && !NEED_A_REQUIREMENT.includes(name)) return undefined
  const requires =
    policy.passport === 'required' ||
    (!needsPassport && policy.require.some((requirement) => requirement !== 'browser'))
  if (requires) return undefined
  const [lacks, needed] = needsPassport
    ? ['does not require the passport', 'requires the passport']
    : ['requires no proof of the phone', 'requires one, such as local_auth']
  return `The workflow ${workflow} ${lacks}, so this value would approve it. Use a workflow that ${needed}`
}
