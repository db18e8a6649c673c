import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { PhoneSession } from '@bonded/contract'
import pg from 'pg'
import { APPROVAL_TABLE } from '../../packages/integrator/src/approval/approval.ts'
import { redisMissing, startRedis } from '../../packages/integrator/tests/redis-server.ts'
import { newDatabase } from '../../packages/store/tests/servers/postgres.ts'
import { bondedUser, inboxHarness } from '../harness/inbox.ts'
import { TestClock } from '../harness/test-clock.ts'
import type { TestPhone } from '../harness/phone.ts'
import { randomFor } from '../random.ts'
import { seeded } from '../seeded.ts'
import type { Answer, BackendOptions, Payment, Task } from './approving-backend.ts'

/** Approvals of all stores together. A kill and its restart take half a second of CPU time. */
const APPROVALS = Number(process.env['APPROVALS'] ?? 2_000)
/** How many needs are settled at once by each store. */
const LANES = 4
/** The points of an execution. A task with fewer ends before a kill at a later one. */
const POINTS = 18
/** Of so many needs three have a kill that is planned, each at the next point. */
const PLANNED_KILLS = APPROVALS < 1_000 ? 6 : 18
/** Of so many tasks one is killed at random, too. */
const RANDOM_KILL = 60
/** Longer than a bond lasts. */
const LATER_MS = 180_000
const BACKEND = join(import.meta.dirname, 'approving-backend.ts')

const folder = mkdtempSync(join(tmpdir(), 'bonded-killed-approvals-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const clock = new TestClock()
// A backend has the clock of the machine.
clock.set(Date.now() - clock.now())
const inbox = await inboxHarness({ clock })
after(() => inbox[Symbol.asyncDispose]())
const { h } = inbox

type Given = Task extends infer Each
  ? Each extends Task
    ? Omit<Each, 'number' | 'diesAt'>
    : never
  : never

/** A backend that is killed, and started again by its next task. */
class Backend {
  kills = 0
  readonly #options: BackendOptions
  readonly #waiting = new Map<number, (answer: string) => void>()
  #child: Promise<ChildProcess> | undefined
  #tasks = 0
  #isStopped = false

  constructor(options: BackendOptions) {
    this.#options = options
  }

  /** What the backend answers, or `killed`. */
  async perform(task: Given, diesAt?: number): Promise<string> {
    if (this.#isStopped) throw new Error('the test is over')
    const child = await (this.#child ??= this.#start())
    const number = ++this.#tasks
    const { promise, resolve } = Promise.withResolvers<string>()
    this.#waiting.set(number, resolve)
    if (!child.connected) resolve('killed')
    else child.send({ ...task, number, diesAt }, (failure) => failure && resolve('killed'))
    return promise
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    const child = await this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }

  async #start(): Promise<ChildProcess> {
    const execArgv = ['--conditions=@bonded/source', '--disable-warning=ExperimentalWarning']
    const child = fork(BACKEND, ['serve', JSON.stringify(this.#options)], { execArgv })
    child.on('exit', () => {
      this.kills += 1
      this.#child = undefined
      for (const resolve of this.#waiting.values()) resolve('killed')
      this.#waiting.clear()
    })
    const ready = Promise.race([once(child, 'message'), once(child, 'exit')])
    child.on('message', ({ number, answer }: Answer) => {
      this.#waiting.get(number)?.(answer)
      this.#waiting.delete(number)
    })
    await ready
    return child
  }
}

/** What the phone shows at the end of a session (`packages/phone-page/src/stage.ts`). */
function lastScreen({ state, reported_at }: PhoneSession): string {
  if (state === 'completed' || reported_at) return 'done'
  return reported_at === null ? 'approved' : 'nothing approved'
}

/**
 * The user opens the only request of the inbox, reads it, and answers. While the clock of another
 * need moves, what the phone has read is too old, and it reads again.
 */
async function answerOnPhone(
  phone: TestPhone,
  { id, payment, isDeclined }: { id: string; payment: Payment; isDeclined: boolean },
) {
  for (;;) {
    const { items } = (await inbox.open(phone)).body as {
      items?: readonly { session_id: string; nonce: string }[]
    }
    if (items === undefined) continue
    assert.deepEqual(
      items.map(({ session_id }) => session_id),
      [id],
    )
    const [{ nonce } = { nonce: '' }] = items
    const listed = { id, nonce }
    if ((await h.claim(phone, listed)).status !== 200) continue
    const view = await h.view(phone, listed)
    assert.deepEqual(JSON.parse(view.context?.text ?? ''), payment)
    const { status } = isDeclined ? await h.decline(phone, listed) : await h.attest(phone, view)
    if (status === 200) return listed
  }
}

/** One need: an agent asks until its payment is made, or its user declines. */
async function settle(
  payment: Payment,
  { backends, ledger, random, user: { phone, subjectRef } }: Scene,
): Promise<'paid' | 'declined'> {
  const { need } = payment
  const isDeclined = need % 10 === 9
  /** The first such task of some needs dies at the next point. */
  const planned: Readonly<Record<number, Task['verb']>> = {
    0: 'request',
    2: 'execute',
    4: 'reconcile',
  }
  const dies: Record<string, number | undefined> = {}
  const verb = planned[need % PLANNED_KILLS]
  if (verb !== undefined) dies[verb] = 1 + (Math.floor(need / PLANNED_KILLS) % POINTS)
  const perform = (task: Given): Promise<string> => {
    const atRandom = random(RANDOM_KILL) === 0 ? 1 + random(POINTS) : undefined
    const diesAt = dies[task.verb] ?? atRandom
    dies[task.verb] = undefined
    return backends[random(2)]!.perform(task, diesAt)
  }
  const answered = async (task: Given): Promise<string> => {
    for (;;) {
      const answer = await perform(task)
      if (answer !== 'killed') return answer
    }
  }
  const entryOf = (id: string) =>
    existsSync(join(ledger, id)) ? readFileSync(join(ledger, id), 'utf8') : undefined
  const screens = new Map<string, () => Promise<string>>()
  const approved = new Set<string>()

  for (let attempt = 0; attempt < 5; attempt++) {
    const key = `invoice-${payment.need}-${attempt}`
    const id = await answered({ verb: 'request', subjectRef, key, payment })
    assert.match(id, /^sess_/, `need ${payment.need}`)
    const listed = await answerOnPhone(phone, { id, payment, isDeclined })
    screens.set(id, async () => lastScreen(await h.view(phone, listed)))
    if (!isDeclined) approved.add(id)

    const first = await perform({ verb: 'execute', id, payment })
    if (first === 'killed' && need % 4 === 0) h.clock.advance(LATER_MS)
    // Until its end is known. An execution that has succeeded is tried again, too.
    for (let answer = ''; !/already_executed|not_approved/.test(answer); ) {
      answer = await answered({ verb: 'execute', id, payment })
      await answered({ verb: 'reconcile', payment })
    }
    const entry = entryOf(id)
    const isPaid = entry !== undefined && entry !== 'void'
    if (isDeclined) {
      assert.equal(entry, undefined, 'an action without an approval')
      assert.equal(await screens.get(id)?.(), 'nothing approved')
      return 'declined'
    }
    if (!isPaid) continue
    assert.ok(approved.has(id), 'an action without an approval')
    assert.deepEqual(JSON.parse(entry), { paid: payment })
    for (const [each, shown] of screens)
      assert.equal(await shown(), each === id ? 'done' : 'approved', `${each} of ${payment.need}`)
    return 'paid'
  }
  assert.fail(`need ${payment.need} is not settled`)
}

type User = Awaited<ReturnType<typeof bondedUser>>

interface Scene {
  readonly backends: readonly Backend[]
  readonly ledger: string
  readonly random: (below: number) => number
  readonly user: User
}

const redis = redisMissing === false ? await startRedis() : undefined
after(() => redis?.close())
for (const [name, value] of [
  ['appendonly', 'yes'],
  ['appendfsync', 'always'],
] as const)
  await redis?.send(['CONFIG', 'SET', name, value])
const postgres = await newDatabase()
const pool = new pg.Pool({ connectionString: postgres })
await pool.query(APPROVAL_TABLE)
await pool.end()

for (const [database, address, skip] of [
  ['sqlite', join(folder, 'approvals.db'), false],
  ['pg', postgres, false],
  ['redis', redis?.path ?? '', redisMissing],
] as const)
  test(`${database}: two backends that are killed run each approved action once`, {
    skip,
    timeout: 1_800_000,
  }, async () => {
    const ledger = join(folder, database)
    mkdirSync(ledger)
    const baseUrl = `http://127.0.0.1:${h.running.port}/api/v1`
    const options = { database, address, baseUrl, serverCredential: h.shop.server, ledger }
    const backends = [new Backend(options), new Backend(options)]
    const ends: string[] = []
    const draw = randomFor(`killed approvals ${database}`)
    const needs = Array.from({ length: Math.ceil(APPROVALS / 3) }, (_, need) => need)
    const users: User[] = []
    while (users.length < needs.length) users.push(await bondedUser(h))
    // A request that is created in the millisecond of the key is not older than the key.
    h.clock.advance(1)
    const lane = async () => {
      for (let need = needs.shift(); need !== undefined; need = needs.shift()) {
        const payment = { need, to: `creditor ${need}` }
        const random = seeded(draw(2 ** 31))
        const user = users[need] ?? assert.fail()
        ends.push(await settle(payment, { backends, ledger, random, user }))
      }
    }
    try {
      await Promise.all(Array.from({ length: LANES }, lane))
    } finally {
      for (const backend of backends) await backend.stop()
    }
    // Each need was paid by one approval, and no approval ran twice.
    // A process that is killed can leave a file of a written entry, `.new`, beside those of runs.
    const entries = readdirSync(ledger).filter((file) => !file.includes('.'))
    const paid = entries
      .map((file) => readFileSync(join(ledger, file), 'utf8'))
      .filter((entry) => entry !== 'void')
    assert.equal(new Set(paid).size, paid.length, 'a need was paid twice')
    assert.equal(paid.length, ends.filter((end) => end === 'paid').length)
    for (const file of readdirSync(ledger).filter((each) => each.endsWith('.runs')))
      assert.equal(readFileSync(join(ledger, file), 'utf8'), 'run\n', file)
    const kills = backends.reduce((sum, backend) => sum + backend.kills, 0)
    console.log(`${database}: ${ends.length} needs, ${paid.length} paid, ${kills} kills`)
  })
