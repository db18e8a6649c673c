import { REASONS } from '@bonded/contract'
import type { RunResult, Step } from '@bonded/simulator'

/** The result of a simulated run, in sentences. */
export function describeRun(result: RunResult): readonly string[] {
  const { steps, rejection } = result
  const replayed = steps.find(({ step }) => step === 'replayed')
  return [
    ...steps.filter(({ required }) => required !== undefined).map(describeStepUp),
    rejection === undefined ? describeEnd(result) : describeRejection(rejection),
    ...(replayed === undefined ? [] : [describeReplay(replayed)]),
  ]
}

/** Why the run was rejected, in a sentence. */
export function describeRejection({ reason, code }: NonNullable<RunResult['rejection']>): string {
  const name = reason ?? code
  return Object.hasOwn(REASONS, name)
    ? `The service rejected the request (${name}). ${REASONS[name as keyof typeof REASONS].message}`
    : `The phone rejected the request (${name}).`
}

function describeEnd({ state, completed, steps }: RunResult): string {
  const declined = steps.find(({ step }) => step === 'declined')
  if (declined?.reason === 'user_unexpected')
    return 'Declined, and reported as not started by the user. Nothing was approved.'
  if (declined !== undefined) return 'Declined. Nothing was approved.'
  if (steps.at(-1)?.reason === 'decided') return 'The request has ended. It has been decided.'
  if (completed) return 'Approved, and the backend has completed the action.'
  if (state === 'expired' && steps.some((step) => step.state === 'bonded'))
    return 'Approved. The time of the approval has ended, and no result was reported.'
  return state === 'bonded'
    ? 'Approved. The session is bonded.'
    : `The session is ${state ?? 'unknown'}.`
}

function describeStepUp({ required = [] }: Step): string {
  return `The service requested a step-up: ${required.join(', ')}.`
}

function describeReplay({ status, state, reason }: Step): string {
  const response =
    reason === undefined
      ? `${status} with state ${state ?? 'unknown'}. Nothing was bonded twice.`
      : `${status} (${reason}).`
  return `Replayed the same assertion. The service returned HTTP ${response}`
}
