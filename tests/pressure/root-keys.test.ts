import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, test } from 'node:test'
import type { CreatedSession, PhoneSession, VerifiedEvidence } from '@bonded/contract'
import { WebSocket } from 'ws'
import type { RootKey } from '../../packages/core/src/domain/root-keys.ts'
import { attestation, evidenceRequest, newKey, type TestPhone } from '../harness/phone.ts'
import { TestClock } from '../harness/test-clock.ts'
import type { RunningService } from '../../packages/server/src/compose.ts'
import { exchangeWith, type Reply } from './exchange.ts'
import { addShop, registerPhone, ROOT_KEY, run, SHOP_ORIGIN, workFolder } from './running.ts'

const NEXT_KEY: RootKey = { id: 'k2', bytes: Uint8Array.from({ length: 32 }, (_, at) => 255 - at) }
const CALLERS = 8
/** Bonds that must succeed between two steps of the rotation. */
const BONDS_A_STEP = 60
const HOUR_MS = 3_600_000

const folder = workFolder()
const clock = new TestClock()
const { databaseFile } = folder
let running: RunningService = await run({ databaseFile, clock })
const exchange = exchangeWith(() => running.port)
after(async () => {
  exchange[Symbol.dispose]()
  await running[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})
const shop = await addShop(running.service)
const backend = { token: shop.server }

/** Callers wait for the service while it restarts, as clients do. */
let up = Promise.resolve()

async function restart(rootKeys: readonly RootKey[]): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  up = promise
  await running[Symbol.asyncDispose]()
  running = await run({ databaseFile, clock, rootKeys })
  resolve()
}

/** Calls again when the response was lost, because the service restarted in between. */
async function untilAccepted(send: () => Promise<Reply>): Promise<Reply> {
  for (;;) {
    await up
    try {
      const reply = await send()
      if (reply.status !== 503) return reply
    } catch {
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
}

async function ok(send: () => Promise<Reply>): Promise<Reply> {
  const reply = await untilAccepted(send)
  assert.ok(reply.status < 300, `${reply.status} ${reply.text}`)
  return reply
}

const iso = () => new Date(clock.now()).toISOString()
const localAuth = () => ({
  local_auth: { result: 'verified' as const, method: 'biometric' as const, verified_at: iso() },
})

/** One session through its states, one step at a time. */
class Journey {
  readonly phone: TestPhone
  readonly #key = crypto.randomUUID()
  session!: CreatedSession
  evidence!: VerifiedEvidence
  #assertion: object | undefined

  constructor(phone: TestPhone) {
    this.phone = phone
  }

  async create(): Promise<this> {
    this.session = (await this.createAgain()).body
    return this
  }

  createAgain(): Promise<Reply> {
    return ok(() =>
      exchange('POST', '/sessions', {
        ...backend,
        headers: { 'idempotency-key': this.#key },
        body: { workflow: 'w', action: 'a' },
      }),
    )
  }

  async claim(): Promise<this> {
    await ok(() =>
      this.#phone(`/sessions/${this.session.id}/claim`, {
        nonce: this.session.nonce,
        device_id: this.phone.device_id,
      }),
    )
    return this
  }

  async prove(): Promise<this> {
    // Signed anew at each attempt, because the service accepts a counter once.
    const reply = await ok(() =>
      this.#phone('/evidence', evidenceRequest(this.phone, this.#view(), localAuth(), iso())),
    )
    this.evidence = reply.body.verified_evidence
    return this
  }

  async bond(): Promise<this> {
    this.#assertion ??= attestation(this.phone, this.#view(), this.evidence, iso())
    const body = this.#assertion
    const reply = await ok(() => this.#phone('/attestations', body))
    assert.equal(reply.body.state, 'bonded', reply.text)
    return this
  }

  /** As a browser, by HTTP and on the channel. */
  async watch(): Promise<this> {
    const headers = { origin: SHOP_ORIGIN, 'x-bond-watch': this.session.watch_token }
    await ok(() =>
      exchange('GET', `/sessions/${this.session.id}`, { token: shop.publishable, headers }),
    )
    const socket = new WebSocket(`ws://127.0.0.1:${running.port}/sessions/${this.session.id}`, [
      'bonded.v1',
      `watch.${this.session.watch_token}`,
    ])
    const [hello] = await once(socket, 'message')
    assert.equal(JSON.parse(String(hello)).type, 'hello')
    socket.terminate()
    return this
  }

  async complete(): Promise<string> {
    const full = (await ok(() => exchange('GET', `/sessions/${this.session.id}`, backend))).body
    const headers = { 'x-bond-completion-secret': this.session.completion_secret ?? '' }
    await ok(() =>
      exchange('POST', `/sessions/${this.session.id}/form-completed`, { ...backend, headers }),
    )
    return full.subject_ref
  }

  #phone(path: string, body: object): Promise<Reply> {
    return exchange('POST', path, { token: this.phone.device_token, body })
  }

  #view(): PhoneSession {
    return this.session as unknown as PhoneSession
  }
}

/** Users who keep bonding while the service restarts. Any failure of theirs fails the test. */
function load(phones: readonly TestPhone[]) {
  const closing = new AbortController()
  let bonds = 0
  let reached = { count: Number.POSITIVE_INFINITY, notify: () => {} }
  const subjects = new Map<TestPhone, Set<string>>()
  const callers = phones.map(async (phone) => {
    while (!closing.signal.aborted) {
      const journey = await (
        await (await (await new Journey(phone).create()).claim()).prove()
      ).bond()
      const names = subjects.get(phone) ?? new Set()
      subjects.set(phone, names.add(await journey.complete()))
      bonds += 1
      if (bonds >= reached.count) reached.notify()
    }
  })
  const all = Promise.all(callers)
  return {
    subjects,
    /** Waits for so many more bonds, or for the failure of a caller. */
    async more(count: number): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>()
      reached = { count: bonds + count, notify: resolve }
      await Promise.race([promise, all])
    },
    async stop(): Promise<void> {
      closing.abort()
      await all
    },
  }
}

/** Sessions left in each of their states. */
async function openSessions(): Promise<readonly (() => Promise<string>)[]> {
  const fresh = async () => new Journey(await registerPhone(exchange)).create()
  const [made, claimed, proved, bonded] = [
    await fresh(),
    await fresh(),
    await fresh(),
    await fresh(),
  ]
  await claimed.claim()
  await (await proved.claim()).prove()
  await (await (await bonded.claim()).prove()).bond()
  const again = async (journey: Journey) => {
    const { body } = await journey.createAgain()
    assert.deepEqual(
      [body.id, body.completion_secret, body.watch_token],
      [journey.session.id, journey.session.completion_secret, journey.session.watch_token],
    )
    return journey.watch()
  }
  return [
    async () => (await (await (await (await again(made)).claim()).prove()).bond()).complete(),
    async () => (await (await (await again(claimed)).prove()).bond()).complete(),
    async () => (await (await again(proved)).bond()).complete(),
    // Includes the replay of the assertion that bonded.
    async () => (await (await again(bonded)).bond()).complete(),
  ]
}

async function finish(open: readonly (() => Promise<string>)[]): Promise<void> {
  for (const go of open) await go()
}

test('rotates a root key in three steps under load without a failed bond, and open sessions continue', async () => {
  const phones = await Promise.all(Array.from({ length: CALLERS }, () => registerPhone(exchange)))
  let users = load(phones)
  await users.more(BONDS_A_STEP)
  const beforeAll = await openSessions()
  const openAcrossBoth = await openSessions()
  const { challenge } = (await exchange('POST', '/devices/challenges')).body

  // Step 1: the new key last.
  await restart([ROOT_KEY, NEXT_KEY])
  await users.more(BONDS_A_STEP)
  await finish(beforeAll)
  const betweenSteps = await openSessions()
  const proved = await (
    await (await new Journey(await registerPhone(exchange)).create()).claim()
  ).prove()

  // Step 2: the new key first.
  await restart([NEXT_KEY, ROOT_KEY])
  await users.more(BONDS_A_STEP)
  await finish(openAcrossBoth)
  await finish(betweenSteps)
  // Two evidence keys are active: a summary of the old one bonds, and new ones name the new.
  assert.equal(proved.evidence.kid, 'k1')
  await (await proved.bond()).complete()
  const made = await (
    await (await new Journey(await registerPhone(exchange)).create()).claim()
  ).prove()
  assert.equal(made.evidence.kid, 'k2')
  const registered = await exchange('POST', '/devices', {
    body: { format: 'software', challenge, public_key: newKey().public_key },
  })
  assert.equal(registered.status, 201, registered.text)
  await users.stop()
  const { subjects } = users

  // Step 3: the old key is removed, a day and an hour later.
  clock.advance(25 * HOUR_MS)
  await restart([NEXT_KEY])
  users = load(phones)
  await users.more(BONDS_A_STEP)
  await users.stop()
  for (const phone of phones) {
    const names = new Set([...(subjects.get(phone) ?? []), ...(users.subjects.get(phone) ?? [])])
    assert.equal(
      names.size,
      1,
      'the tenant sees one subject reference per user, whichever key derived it',
    )
  }
})

test('reads sessions as not found, without other errors, when their root key is removed too early', async () => {
  const early = new Journey(await registerPhone(exchange))
  await restart([ROOT_KEY, NEXT_KEY])
  await early.create()
  await restart([NEXT_KEY])
  const { session, phone } = early
  const mobile = { token: phone.device_token }
  const watching = {
    token: shop.publishable,
    headers: { origin: SHOP_ORIGIN, 'x-bond-watch': session.watch_token },
  }
  const replies = await Promise.all([
    exchange('GET', `/sessions/${session.id}`, backend),
    exchange('GET', `/sessions/${session.id}`, watching),
    exchange('GET', `/sessions/${session.id}?nonce=${session.nonce}`, mobile),
    exchange('DELETE', `/sessions/${session.id}`, backend),
    exchange('POST', `/sessions/${session.id}/form-completed`, {
      ...backend,
      headers: { 'x-bond-completion-secret': session.completion_secret ?? '' },
    }),
    exchange('POST', `/sessions/${session.id}/claim`, {
      ...mobile,
      body: { nonce: session.nonce, device_id: phone.device_id },
    }),
  ])
  assert.deepEqual(
    replies.map(({ status, body }) => [status, body.error.reason]),
    [...Array.from({ length: 5 }, () => [404, 'session_not_found']), [400, 'session_not_live']],
  )
})
