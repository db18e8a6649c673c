import assert from 'node:assert/strict'
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { CREATE_TENANT, machine } from '../harness/process.ts'
import type { TestPhone } from '../harness/phone.ts'
import { choose } from './chance.ts'
import { exchangeWith } from './exchange.ts'
import { eventsOf, foldOf } from './history-check.ts'
import { RecordedSession, tick, type Wire } from './recorder.ts'
import { registerPhone } from './running.ts'

const BACKUPS = 3
const CALLERS = 8
/** Responses between two backups, so that each has sessions in every state. */
const RESPONSES_BETWEEN = 400

const env = { BONDED_RATE_LIMITS: 'off' }
const source = machine({ env })
after(() => source[Symbol.dispose]())

interface Load {
  readonly sessions: RecordedSession[]
  readonly wire: Wire
  stop: boolean
}

/** Bonds one session after another, and ends half of them. */
async function caller(phone: TestPhone, load: Load): Promise<void> {
  while (!load.stop) {
    const recorded = await RecordedSession.create(load.wire)
    load.sessions.push(recorded)
    await recorded.claim(phone)
    const assertion = await recorded.evidence(phone)
    if (assertion !== undefined) await recorded.attest(phone, assertion)
    await choose([
      () => recorded.complete(),
      () => recorded.kill(),
      () => recorded.read('backend'),
      () => recorded.read('browser'),
    ])()
  }
}

/** What was acknowledged before this moment: the latest seq of a session, and how it had ended. */
function acknowledged({ history }: RecordedSession): { seq: number; ended?: string } {
  let seq = 1
  let ended: string | undefined
  for (const { call, response } of history) {
    if (response === undefined || response.rejected !== undefined) continue
    if (typeof response.seq === 'number') seq = Math.max(seq, response.seq)
    if (call.do === 'complete') ended = 'completed'
    if (call.do === 'kill') ended = 'killed'
  }
  return ended === undefined ? { seq } : { seq, ended }
}

test(`each of ${BACKUPS} backups under load contains everything acknowledged before it began, and serves`, async () => {
  const { server_credential: server, publishable_key: publishable } = source.json(...CREATE_TENANT)
  await using service = await source.serve()
  const exchange = exchangeWith(() => Number(new URL(service.origin).port))
  using sockets = new DisposableStack()
  sockets.use(exchange)
  const phones = await Promise.all(Array.from({ length: CALLERS }, () => registerPhone(exchange)))
  let responses = 0
  let wake = { at: Number.POSITIVE_INFINITY, resolve: () => {} }
  const load: Load = {
    sessions: [],
    stop: false,
    wire: {
      shop: { server, publishable },
      now: () => Date.now(),
      exchange: async (...call) => {
        const reply = await exchange(...call)
        responses += 1
        if (responses >= wake.at) wake.resolve()
        return reply
      },
    },
  }
  const callers = phones.map((phone) => caller(phone, load))
  const made: {
    file: string
    before: Map<string, ReturnType<typeof acknowledged>>
    counters: Map<string, number>
  }[] = []
  for (let number = 1; number <= BACKUPS; number++) {
    const { promise, resolve } = Promise.withResolvers<void>()
    wake = { at: responses + RESPONSES_BETWEEN, resolve }
    await promise
    const file = join(source.folder, `${number}.backup`)
    const before = new Map(load.sessions.map((one) => [one.session.id, acknowledged(one)]))
    const counters = new Map(phones.map(({ device_id, counter }) => [device_id, counter]))
    const [started, responsesThen] = [tick(), responses]
    await source.jsonMeanwhile('backup', file)
    assert.ok(tick() > started && responses > responsesThen, 'the service answered meanwhile')
    made.push({ file, before, counters })
  }
  load.stop = true
  await Promise.all(callers)
  await service.stop('SIGTERM')

  for (const { file, before } of made) await checkRestored(file, before)

  async function checkRestored(
    file: string,
    before: ReadonlyMap<string, ReturnType<typeof acknowledged>>,
  ): Promise<void> {
    using target = machine({ env })
    copyFileSync(join(source.folder, 'root.key'), join(target.folder, 'root.key'))
    target.json('restore', file)
    await using restored = await target.serve()
    const ask = exchangeWith(() => Number(new URL(restored.origin).port))
    sockets.use(ask)
    for (const [id, { seq, ended }] of before) {
      const { body } = await ask('GET', `/sessions/${id}/timeline`, { token: server })
      const events = eventsOf(body.entries)
      assert.ok((events.at(-1)?.seq ?? 0) >= seq, `${id} has every acknowledged event`)
      assert.equal(foldOf(events.map(({ kind }) => kind)).state, body.state)
      if (ended !== undefined) assert.equal(body.state, ended)
      assert.match(body.state, /^(?:completed|killed|expired)$/, 'no live session')
    }
    // A phone of before the backup bonds and completes a new session.
    const [phone] = phones
    assert.ok(phone !== undefined)
    const next = await RecordedSession.create({ ...load.wire, exchange: ask })
    await next.claim(phone)
    const assertion = await next.evidence(phone)
    assert.ok(assertion !== undefined)
    await next.attest(phone, assertion)
    await next.complete()
    await next.read('backend')
    assert.equal(next.history.at(-1)?.response?.state, 'completed')
  }
})
