import type { TenantId } from '@bonded/contract'
import { newSession } from '../../../core/src/domain/new-session.ts'
import { policyOf } from '../../../core/src/domain/policy.ts'
import type { Instant, Session } from '../../../core/src/domain/session.ts'
import { COUNTS, HOUR_MS, LATENCY_BOUNDS_S, type Totals } from '../../../core/src/domain/totals.ts'
import { type Move, MOVES } from '../../../core/src/protocol/states.ts'
import type { Store } from '../../../core/src/ports/store.ts'
import { localBus } from '../../../server/src/adapters/bus/local-bus.ts'
import { keyringOf } from '../../../server/src/adapters/keys/keyring.ts'
import { noMeter } from '../../../core/src/ports/meter.ts'
import { openPostgres } from '../../src/postgres/open-postgres.ts'
import { SqliteStore } from '../../src/sqlite/sqlite-store.ts'
import { ROOT_KEY, settingsOf } from '../servers/test-database.ts'

/** Another node on the database, or another connection to the file. */
export async function openStore(database: string, now: Instant): Promise<Store> {
  const { idKeys } = keyringOf([ROOT_KEY])
  const bus = localBus()
  if (!database.startsWith('postgres')) return new SqliteStore(database, { bus, idKeys })
  return (await openPostgres(settingsOf(database), { now, idKeys }))({ bus, meter: noMeter })
}

/** How a session goes on, in steps. */
export const LIVES = [
  ['bond', 'complete'],
  ['bond', 'kill'],
  ['bond'],
  ['bond', 'expire'],
  ['stepUp', 'bond', 'complete'],
  ['stepUp', 'failPolicy'],
  ['stepUp', 'expire'],
  ['approve', 'prove', 'complete'],
  ['approve'],
  ['decline'],
  ['declineUnexpected'],
  ['cancel'],
  ['suspend'],
  ['refuse', 'refuse', 'bond', 'complete'],
  ['refuse', 'decline'],
  ['expire'],
  [],
] as const
export type Step = (typeof LIVES)[number][number]

export interface Life {
  readonly tenantId: TenantId
  readonly workflow: string
  readonly createdAt: Instant
  readonly isInbox: boolean
  readonly steps: readonly Step[]
  /** The time of each step. */
  readonly times: readonly Instant[]
}

/** A session that the test moves by the calls of the table, without a phone. */
export class LivingSession {
  readonly life: Life
  #session: Session

  constructor(store: Store, life: Life, random: Uint8Array) {
    this.life = life
    const { steps, tenantId, workflow, createdAt, isInbox } = life
    const needsBrowser = steps.some((step) => step === 'approve')
    const policy = policyOf({
      name: 'w',
      actions: ['a'],
      ...(needsBrowser ? { require: ['browser'] } : {}),
    })
    this.#session = {
      ...newSession({
        id: store.newSessionId(createdAt, random),
        tenantId,
        rootKeyId: 'k1',
        workflow,
        action: 'a',
        policy,
        createdAt,
        context: null,
        wantedSubjectRef: null,
        sealedPhoneNumber: null,
        endUserNetwork: null,
        notifies: false,
      }),
      inboxSubjectId: isInbox ? ('sub_x' as Session['inboxSubjectId']) : null,
    }
  }

  async create(store: Store): Promise<void> {
    await store.write((tables) => tables.sessions.create(this.#session))
  }

  async take(store: Store, step: Step, at: Instant): Promise<void> {
    if (step === 'refuse') {
      const note = { at, kind: 'refused', reason: 'assertion_invalid', step: 'signature' }
      return store.write((tables) => tables.sessions.note(this.#session.id, note))
    }
    const move: Move = step === 'prove' ? MOVES.bond : MOVES[step]
    const set = {
      ...(step === 'bond' || step === 'prove' ? { bondedAt: at } : {}),
      ...(step === 'prove' ? { verification: { browser: {} } } : {}),
      ...(step === 'prove' ? { browserProof: { commitment: 'c' } } : {}),
      ...(step === 'approve' ? { browserProof: { approved: {} } } : {}),
      ...(step === 'complete' ? { completedAt: at } : {}),
    } as object
    const moved = await store.write((tables) =>
      tables.sessions.move(this.#session, move, { now: at, set }),
    )
    if (moved === undefined) throw new Error(`the step ${step} was rejected`)
    this.#session = moved
  }

  get expiresAt(): Instant {
    return this.#session.expiresAt
  }
}

/** The totals of an hour, a tenant and a workflow, by a key of all three. */
export type Tally = Map<string, { -readonly [Name in keyof Totals]: Totals[Name] }>

export const NOTHING: Totals = {
  ...(Object.fromEntries(COUNTS.map((name) => [name, 0])) as unknown as Totals),
  latencies: [...LATENCY_BOUNDS_S, 0].map(() => 0),
}

/** Counts what lives have added until a time, without the database. */
export function tallyOf(sessions: readonly LivingSession[], now: Instant): Tally {
  const tally: Tally = new Map()
  for (const { life, expiresAt } of sessions) {
    const { tenantId, workflow, createdAt, isInbox, steps, times } = life
    const at = (instant: Instant) => {
      const key = [tenantId, workflow, instant - (instant % HOUR_MS)].join(' ')
      const found = tally.get(key) ?? { ...NOTHING }
      tally.set(key, found)
      return found
    }
    if (createdAt > now) continue
    at(createdAt).created += 1
    if (isInbox) at(createdAt).inbox += 1
    const last = steps.at(-1)
    const isStored = last !== undefined && !['bond', 'approve', 'expire'].includes(last)
    const endedAt = isStored ? (times.at(-1) ?? 0) : expiresAt
    if (endedAt > now) continue
    const row = at(endedAt)
    const bondedAt = steps.flatMap((step, index) =>
      step === 'bond' || step === 'prove' ? [times[index] ?? 0] : [],
    )[0]
    if (steps.includes('stepUp')) row.stepUps += 1
    row.rejections += steps.filter((step) => step === 'refuse').length
    if (bondedAt !== undefined) {
      row.approved += 1
      if (last === 'complete') row.completed += 1
      if (steps.includes('prove')) row.browserProofs += 1
      const latency = bondedAt - createdAt
      row.latencyMs += latency
      const bucket = LATENCY_BOUNDS_S.findIndex((bound) => latency < bound * 1_000)
      const index = bucket === -1 ? LATENCY_BOUNDS_S.length : bucket
      row.latencies = row.latencies.map((count, each) => (each === index ? count + 1 : count))
    } else if (last === 'decline') row.declined += 1
    else if (last === 'declineUnexpected') row.reported += 1
    else if (last === 'cancel' || last === 'suspend' || last === 'failPolicy') row.stopped += 1
    else row.expired += 1
  }
  return tally
}
