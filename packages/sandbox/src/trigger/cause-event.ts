import { EVENT_TYPES, type EventType, eventTypesOf } from '@bonded/contract'
import { OperatorError } from '@bonded/core/operations/admin/operator-error'
import { ANY, SCRIPTS } from './scripts.ts'
import { Stage, type StageOptions } from './stage.ts'

/** The event to cause. */
export interface Wanted {
  readonly type: EventType
  /** The reason, of an event that has several. The default is the first. */
  readonly reason?: string | undefined
}

/** Every event with each of its reasons. */
export const WANTED: readonly Wanted[] = EVENT_TYPES.flatMap((type) =>
  Object.keys(SCRIPTS[type]).map((reason) => (reason === ANY ? { type } : { type, reason })),
)

/** What was caused. */
export interface Caused {
  readonly event: EventType
  readonly reason: string | null
  readonly tenant_id: string
  readonly session_id: string | null
  readonly device_id: string | null
}

/**
 * Causes an event by real calls: of a backend, a page, an operator, and a simulated phone.
 *
 * @throws {OperatorError} where the event has no such reason, or the session ended otherwise
 */
export async function causeEvent({ type, reason }: Wanted, given: StageOptions): Promise<Caused> {
  const scripts = SCRIPTS[type]
  const reasons = Object.keys(scripts).filter((name) => name !== ANY)
  const chosen = reason ?? reasons[0] ?? ANY
  const script = Object.hasOwn(scripts, chosen) ? scripts[chosen] : undefined
  if (script === undefined || reason === ANY)
    throw new OperatorError(
      reasons.length === 0
        ? `${type} has no reasons`
        : `${type} has no reason ${chosen}. Expected one of ${reasons.join(', ')}`,
      { code: 'invalid' },
    )
  using stage = await Stage.open(given)
  await script(stage)
  if (type.startsWith('session.')) await check(stage, { type, reason: chosen })
  return {
    event: type,
    reason: chosen === ANY ? null : chosen,
    tenant_id: stage.tenant.id,
    session_id: stage.session?.id ?? null,
    device_id: stage.deviceId ?? null,
  }
}

/** The policy of a workflow can lead elsewhere. */
async function check(stage: Stage, { type, reason }: Required<Wanted>): Promise<void> {
  if (stage.session === undefined) return
  const { id, state, ended_reason, outcome, hint, workflow } = await stage.read(stage.session)
  // A session that has expired no longer says from which state.
  const isOfReason =
    reason === ANY || state === 'expired' || reason === (ended_reason ?? outcome ?? hint)
  const isCaused =
    type === 'session.waiting'
      ? state === 'pending'
      : eventTypesOf(state, ended_reason).includes(type)
  if (isCaused && isOfReason) return
  throw new OperatorError(
    `The session ${id} is ${state}${ended_reason === null ? '' : ` (${ended_reason})`}, because of the policy of the workflow ${workflow}. Name another one with --workflow`,
    { code: 'conflict' },
  )
}
