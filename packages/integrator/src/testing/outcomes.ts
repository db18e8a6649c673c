import {
  COMPLETION_OUTCOMES,
  ENDED_REASONS,
  type FullSession,
  type PassportTier,
  type PulseVerification,
  type Reason,
  SESSION_STATES,
  type SessionState,
  type StepUp,
} from '@bonded/contract'
import { GateError } from '../errors.ts'

/** A bond that every check of a gate accepts. */
export const GOOD_VERIFICATION: PulseVerification = {
  device_possession: true,
  key_attested: true,
  local_auth: 'verified',
  assertion_confidence: 0.8,
  human_presence_confidence: 0.8,
  assertion_band: 'high',
  continuity_score_long_lived: 0.7,
  carrier: { number_verified: false, sim_swap_recent: false, device_status: 'unknown' },
  sensor_continuity: { motion_present: true, continuity_score: 0.8 },
}
const OTHER_DIGEST = 'x'.repeat(43)

type Change = (session: FullSession) => Partial<FullSession>

/** The gate answers a bonded session that has this fault with the reason of the same name. */
const FAULTS = {
  workflow_mismatch: () => ({ workflow: 'another_workflow' }),
  action_mismatch: () => ({ action: 'another_action' }),
  session_expired: ({ server_time }) => ({ expires_at: server_time, expires_in_ms: 0 }),
  tenant_mismatch: () => ({ tenant_id: `ten_${'x'.repeat(22)}` }),
  one_of_several: ({ context }) => ({
    context: { display: [], ...context, quorum: { id: `quo_${'x'.repeat(22)}`, needed: 2, of: 2 } },
    verification: null,
  }),
  verification_missing: () => ({ verification: null }),
  device_not_possessed: proved({ device_possession: false }),
  local_auth_not_verified: proved({ local_auth: 'failed' }),
  passport_chip_missing: proved({ passport: { tier: 'document' } }),
  context_missing: ({ context }) => ({ context: context && { display: context.display } }),
  context_mismatch: ({ context }) => ({
    context: { display: context?.display ?? [], digest: OTHER_DIGEST },
  }),
  subject_mismatch: () => ({ subject_ref: OTHER_DIGEST }),
  browser_not_proved: ({ verification }) => {
    const { browser: _browser, ...rest } = verification ?? GOOD_VERIFICATION
    return { verification: rest }
  },
  low_confidence: proved({
    assertion_confidence: 0.4,
    human_presence_confidence: 0.4,
    assertion_band: 'low',
  }),
  sim_swap_recent: proved({
    carrier: { number_verified: true, sim_swap_recent: true, device_status: 'active' },
  }),
  low_continuity: proved({ sensor_continuity: { motion_present: false, continuity_score: 0.1 } }),
} as const satisfies Record<string, Change>

function proved(change: Partial<PulseVerification>): Change {
  return ({ verification }) => ({
    verification: { ...(verification ?? GOOD_VERIFICATION), ...change },
  })
}

/**
 * The reasons of each state. `killed` has the contract's ended reasons, `completed` its outcomes,
 * and `pending` and `step_up_required` its hints. Those of `bonded` are the reasons for which a
 * gate rejects or reviews what the service returns.
 */
export const TEST_REASONS = {
  pending: ['waiting_for_scan', 'scanned', 'evaluating'],
  step_up_required: ['step_up', 'browser'],
  bonded: Object.keys(FAULTS) as (keyof typeof FAULTS)[],
  completed: COMPLETION_OUTCOMES,
  killed: ENDED_REASONS,
  expired: [],
} as const satisfies Record<SessionState, readonly string[]>

type ReasonOf<State extends SessionState> = (typeof TEST_REASONS)[State][number]

/** A session in one state, with one of its reasons, and with members of your choice. */
type InState<State extends SessionState> = {
  readonly state: State
  readonly reason?: ReasonOf<State>
  /** The proof of the passport. None by default. Only for `bonded` and `completed`. */
  readonly tier?: State extends 'bonded' | 'completed' ? PassportTier : never
  /** The origin of the page whose browser proved itself. Only for `bonded` and `completed`. */
  readonly browser?: State extends 'bonded' | 'completed' ? string : never
  /** Replaces members of the session, last. */
  readonly session?: Partial<FullSession>
}

/** What the service answers. `rejection` is its answer to every call, such as `rate_limited`. */
export type TestOutcome =
  | { [State in SessionState]: InState<State> }[SessionState]
  | { readonly rejection: Reason }

/** The outcomes that have a session. */
export type SessionOutcome = Exclude<TestOutcome, { readonly rejection: Reason }>

const TIERS: readonly PassportTier[] = ['none', 'document', 'chip']

/**
 * Every state with every reason and, where the phone has proved something, with every tier.
 *
 * @example everyOutcome().filter(({ state }) => state === 'killed').length // 9
 */
export function everyOutcome(): readonly SessionOutcome[] {
  return SESSION_STATES.flatMap((state) =>
    [undefined, ...TEST_REASONS[state]].flatMap((reason) => {
      const outcome = { state, ...(reason && { reason }) } as SessionOutcome
      if (!isProved(state)) return reason === undefined && state === 'killed' ? [] : [outcome]
      return TIERS.map((tier) => ({ ...outcome, tier }) as SessionOutcome)
    }),
  )
}

/** @throws {GateError} `invalid_configuration` for a state or a reason that does not exist */
export function checkOutcome(outcome: TestOutcome): void {
  if ('rejection' in outcome) return
  const { state, reason } = outcome
  const reasons: readonly string[] | undefined = TEST_REASONS[state]
  if (reasons !== undefined && (reason === undefined || reasons.includes(reason))) return
  throw new GateError(
    'invalid_configuration',
    reasons === undefined
      ? `There is no state ${state}. The states are ${SESSION_STATES.join(', ')}.`
      : `The state ${state} has no reason ${reason}. Its reasons are: ${reasons.join(', ') || 'none'}.`,
  )
}

/** A pending session as it is with an outcome. */
export function withOutcome(pending: FullSession, outcome: SessionOutcome): FullSession {
  const { state, reason, tier, browser } = outcome
  const waits = state === 'pending' || state === 'step_up_required'
  const session: FullSession = {
    ...pending,
    state,
    ...(!waits && state !== 'bonded' && { expires_in_ms: 0 }),
    ...(state !== 'pending' && { challenge_expires_in_ms: 0, challenge_rotates_in_ms: 0, seq: 4 }),
    hint: null,
    // The service names the user once the phone has approved.
    subject_ref: null,
    ...(state === 'pending' && { hint: reason ?? 'waiting_for_scan' }),
    ...(state === 'step_up_required' && stepUp(reason ?? 'step_up')),
    ...(state === 'killed' && { ended_reason: reason ?? 'killed_by_tenant' }),
    ...(state === 'completed' && { outcome: reason ?? null }),
    ...(isProved(state) && {
      reported_at: state === 'completed' ? pending.server_time : null,
      subject_ref: pending.subject_ref ?? 's'.repeat(43),
      verification: {
        ...GOOD_VERIFICATION,
        ...(tier && { passport: { tier } }),
        ...(browser && { browser: { origin: browser, proved_at: pending.server_time } }),
      },
    }),
  }
  const fault = state === 'bonded' && reason ? FAULTS[reason](session) : {}
  return { ...session, ...fault, ...outcome.session }
}

function stepUp(hint: ReasonOf<'step_up_required'>): Pick<FullSession, 'hint' | 'step_up'> {
  const step_up: StepUp =
    hint === 'browser'
      ? { required: ['browser'], attempts_left: 2, reasons: ['browser_not_confirmed'] }
      : { required: ['local_auth'], attempts_left: 2, reasons: ['local_auth_not_verified'] }
  return { hint, step_up }
}

function isProved(state: SessionState): state is 'bonded' | 'completed' {
  return state === 'bonded' || state === 'completed'
}
