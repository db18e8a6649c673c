import { rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { SessionId } from '@bonded/contract'
import { SESSION_TTL_SECONDS } from '../packages/core/src/domain/lifetimes.ts'
import { BATCH_SESSIONS } from '../packages/core/src/operations/maintenance/batch.ts'
import { MOVES } from '../packages/core/src/protocol/states.ts'
import type { Store } from '../packages/core/src/ports/store.ts'
import { median, workFolder, tenths } from './process.ts'
import { bond, complete, create, fill, newSession, openStore } from './stored-sessions.ts'

/**
 * Measures the store's work with a thousand and with a million stored sessions, and with five
 * million by BENCH_SIZES=1000,1000000,5000000 (8 GB in the temporary folder): create and move
 * (durable, 16 at a time, as 16 callers do), read, and the two sweeps. Each size has its own file,
 * and the sizes take turns, so that a temporary slowdown of the machine affects all. `--json`
 * prints one document.
 */
const SIZES = (process.env.BENCH_SIZES ?? '1000,10000,100000,1000000').split(',').map(Number)
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 15)
/** Statements are prepared, code is compiled, and the upper pages of every index are in memory. */
const WARM_UP_ROUNDS = 3
const CALLERS = 16
const SESSIONS = 320
/** The newest sessions, because clients read those. */
const NEWEST = 900
const READS = 400

interface Cost {
  readonly cpuUs: number
  readonly wallUs: number
}

const OPERATIONS = ['create', 'move', 'read', 'read_any', 'expire', 'purge'] as const
type Operation = (typeof OPERATIONS)[number]
type Costs = Readonly<Record<Operation, Cost>>

class Stored implements AsyncDisposable {
  readonly #file: string
  readonly #store: Store
  /** Oldest first. The count equals the initial number, whatever the rounds have done. */
  readonly #ids: SessionId[]
  #oldest = 0
  #now: number

  constructor(file: string, ids: SessionId[], now: number) {
    this.#file = file
    this.#store = openStore(file)
    this.#ids = ids
    this.#now = now
  }

  get bytes(): number {
    return statSync(this.#file).size
  }

  async round(): Promise<Costs> {
    const from = this.#now
    const now = from + SESSIONS
    this.#now = now
    // Half of them run to the end. The others are old enough to have expired by now.
    // Sessions of one millisecond can have the same key, so each has its own.
    const moving = Array.from({ length: SESSIONS / 2 }, (_, index) =>
      newSession(this.#store, from + index),
    )
    const expiring = Array.from({ length: SESSIONS / 2 }, (_, index) =>
      newSession(this.#store, from + 1 + index - SESSION_TTL_SECONDS * 1_000),
    )
    const costs = {
      create: await costOf(SESSIONS, () =>
        this.#grouped([...moving, ...expiring], (session) => this.#store.write(create(session))),
      ),
      move: await costOf(SESSIONS, async () => {
        await this.#grouped(moving, ({ id }) => this.#store.write(bond(id, now)))
        await this.#grouped(moving, ({ id }) => this.#store.write(complete(id, now)))
      }),
      read: await this.#reads(NEWEST),
      read_any: await this.#reads(this.#ids.length - this.#oldest),
      expire: await costOf(expiring.length, () =>
        this.#sweep(expiring.length, (limit) => this.#expire(limit)),
      ),
      purge: await costOf(SESSIONS, () => this.#sweep(SESSIONS, (limit) => this.#purge(limit))),
    }
    // In the order of their end, which is the order of the purge.
    for (const { id } of [...expiring, ...moving]) this.#ids.push(id)
    this.#oldest += SESSIONS
    return costs
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#store[Symbol.asyncDispose]()
  }

  /**
   * Reads one after the other, from a store that has cached none of them, after as many unmeasured
   * reads.
   */
  async #reads(newest: number): Promise<Cost> {
    await using store = openStore(this.#file)
    const chosen = new Set<SessionId>()
    while (chosen.size < READS * 2)
      chosen.add(this.#ids[this.#ids.length - 1 - Math.floor(Math.random() * newest)] as SessionId)
    const read = async (ids: readonly SessionId[]) => {
      for (const id of ids)
        must((await store.read((tables) => tables.sessions.find(id))) !== undefined)
    }
    await read([...chosen].slice(READS))
    return await costOf(READS, () => read([...chosen].slice(0, READS)))
  }

  async #grouped<T>(items: readonly T[], unit: (item: T) => Promise<boolean>): Promise<void> {
    for (let index = 0; index < items.length; index += CALLERS) {
      for (const done of await Promise.all(items.slice(index, index + CALLERS).map(unit)))
        must(done)
    }
  }

  async #sweep(sessions: number, batch: (limit: number) => Promise<number>): Promise<void> {
    for (let left = sessions; left > 0; ) {
      const done = await batch(Math.min(left, BATCH_SESSIONS))
      must(done > 0)
      left -= done
    }
  }

  #expire(limit: number): Promise<number> {
    const now = this.#now
    return this.#store.write(function* (tables) {
      const overdue = yield* tables.sessions.overdue(now, limit)
      for (const session of overdue) yield* tables.sessions.move(session, MOVES.expire, { now })
      return overdue.length
    })
  }

  async #purge(limit: number): Promise<number> {
    const endedBy = this.#now
    return this.#store.write(function* ({ idempotency, sessions }) {
      // The oldest keys, of which a steady load purges as many as it creates.
      yield* idempotency.purge(endedBy, limit)
      return (yield* sessions.purge({ now: endedBy, usualMs: 0, min: 1, max: 1, limit })).length
    })
  }
}

const folder = workFolder()
const stores: { sessions: number; stored: Stored }[] = []
for (const sessions of SIZES) {
  const file = join(folder, `${sessions}.db`)
  const now = Date.now()
  stores.push({ sessions, stored: new Stored(file, await fill(file, { sessions, now }), now) })
  console.error(`filled ${sessions} in ${Math.round((Date.now() - now) / 100) / 10} s`)
}

const rounds: Costs[][] = []
for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round++) {
  const costs: Costs[] = []
  for (const { stored } of stores) costs.push(await stored.round())
  if (round >= 0) rounds.push(costs)
}

const middle = (operation: Operation, at: number, figure: keyof Cost) =>
  tenths(median(rounds.map((costs) => costs[at]?.[operation][figure] ?? Number.NaN)))
const ratio = (operation: Operation, figure: keyof Cost) =>
  Math.round(
    median(
      rounds.map(
        (costs) =>
          (costs.at(-1)?.[operation][figure] ?? Number.NaN) /
          (costs[0]?.[operation][figure] ?? Number.NaN),
      ),
    ) * 100,
  ) / 100
const figures = {
  rounds: ROUNDS,
  sizes: SIZES,
  megabytes: stores.map(({ stored }) => Math.round(stored.bytes / 1e6)),
  operations: OPERATIONS.map((operation) => ({
    operation,
    cpu_us: SIZES.map((_, index) => middle(operation, index, 'cpuUs')),
    wall_us: SIZES.map((_, index) => middle(operation, index, 'wallUs')),
    cpu_ratio: ratio(operation, 'cpuUs'),
    wall_ratio: ratio(operation, 'wallUs'),
  })),
}
for (const { stored } of stores) await stored[Symbol.asyncDispose]()
rmSync(folder, { recursive: true, force: true })

if (process.argv.includes('--json')) console.log(JSON.stringify(figures))
else {
  const cells = (values: readonly (string | number)[]) =>
    values.map((value) => String(value).padStart(11)).join('')
  console.log(
    `µs for each session, median of ${ROUNDS} rounds of ${SESSIONS} sessions, ${CALLERS} to a commit; last : first is the median of the rounds' ratios`,
  )
  console.log(`${'stored sessions'.padEnd(18)}${cells([...SIZES, 'last : first'])}`)
  for (const { operation, cpu_us, wall_us, cpu_ratio, wall_ratio } of figures.operations) {
    console.log(`${`${operation} CPU`.padEnd(18)}${cells([...cpu_us, cpu_ratio.toFixed(2)])}`)
    console.log(`${`${operation} wall`.padEnd(18)}${cells([...wall_us, wall_ratio.toFixed(2)])}`)
  }
  console.log(`${'file, MB'.padEnd(18)}${cells(figures.megabytes)}`)
}

async function costOf(sessions: number, work: () => Promise<unknown>): Promise<Cost> {
  const cpu = process.cpuUsage()
  const from = performance.now()
  await work()
  const wallUs = ((performance.now() - from) * 1_000) / sessions
  const { user, system } = process.cpuUsage(cpu)
  return { cpuUs: (user + system) / sessions, wallUs }
}

function must(done: boolean): void {
  if (!done) throw new Error('the store did not complete the measured operations')
}
