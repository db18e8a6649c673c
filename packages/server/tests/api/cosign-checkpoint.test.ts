import assert from 'node:assert/strict'
import { createHash, generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { pino } from 'pino'
import { type Harness, harness } from '../../../../tests/harness/harness.ts'
import { testSigner } from '../../../../tests/harness/test-signer.ts'
import { NEVER, startWitness } from '../../../../tests/harness/test-witness.ts'
import type { ReceiptKeySet } from '../../../integrator/src/index.ts'
import {
  verifyWitnessedReceipt,
  verifyWitnesses,
} from '../../../integrator/src/receipt/witnesses.ts'
import { witnessClient } from '../../src/adapters/witness/witness-client.ts'
import { parseWitnesses } from '../../src/adapters/witness/witness-settings.ts'
import { ClockGuard } from '../../src/clock-guard.ts'
import { startMaintenance } from '../../src/maintenance.ts'
import { reportReceiptLog } from '../../../core/src/operations/admin/report-receipt-log.ts'
import { cosignCheckpoint } from '../../../core/src/operations/receipt/cosign-checkpoint.ts'
import { appendReceipts } from '../../../core/src/operations/receipt/receipt-log.ts'
import type { StoredReceipt } from '../../../core/src/ports/tables/receipt-table.ts'
import { WitnessError } from '../../../core/src/ports/witness.ts'

const LOG = { origin: 'bond.example/receipts/log', keys: testSigner().publicKeys }
const ROUND_MS = 10_000
const HOUR_MS = 60 * 60_000

/** A service whose log three witnesses cosign. */
async function scene() {
  const witnesses = await Promise.all(
    ['w1.example', 'w2.example/a', 'w3.example'].map((name) => startWitness(name, LOG)),
  )
  // Its own maintenance asks no witness, so that each round has its turn.
  const h = await harness()
  const settings = parseWitnesses(witnesses.map(({ setting }) => setting).join()) ?? []
  const service = {
    ...h.service,
    witnesses: settings.map((witness) => witnessClient(witness, h.clock)),
  }
  const keys = witnesses.map(({ verifierKey }) => verifierKey)
  const checkpoint = async () => (await h.call('GET', '/receipts/log/checkpoint')).text
  return {
    h,
    service,
    witnesses: witnesses as [Witness, Witness, Witness],
    keys,
    checkpoint,
    /** Completes a session and appends its receipt. */
    async receipt() {
      const { session } = await h.reach('completed')
      await read(h, session.id)
      while ((await appendReceipts(h.service)).done > 0);
      return () => read(h, session.id)
    },
    /** Appends a receipt without a session. */
    async grow() {
      await h.service.store.write((tables) =>
        tables.receipts.add({
          sessionId: `sess_${h.service.random.base62(22)}` as StoredReceipt['sessionId'],
          state: 'bonded',
          tenantId: h.shop.tenant.id,
          workflow: 'w',
          action: 'a',
          browserCommitment: null,
          jws: h.service.random.base62(43),
          madeAt: h.clock.now(),
          logIndex: null,
        }),
      )
      while ((await appendReceipts(h.service)).done > 0);
    },
    async round() {
      h.clock.advance(ROUND_MS)
      return cosignCheckpoint(service)
    },
    cosigners: async () =>
      (await verifyWitnesses(await checkpoint(), { witnesses: keys, required: 1 })).cosigners,
    async [Symbol.asyncDispose]() {
      await h[Symbol.asyncDispose]()
      for (const witness of witnesses) await witness[Symbol.asyncDispose]()
    },
  }
}
type Witness = Awaited<ReturnType<typeof startWitness>>

async function read(h: Harness, id: string) {
  const { body } = await h.api('GET', `/sessions/${id}/receipt`, { token: h.shop.server })
  return body as { receipt: string; proof: string | null }
}
const jwksOf = async (h: Harness) =>
  JSON.parse((await h.call('GET', '/.well-known/jwks.json')).text) as ReceiptKeySet
const sizeOf = (checkpoint: string) => Number(checkpoint.split('\n')[1])

test('a receipt has the cosignatures of the witnesses, which follow the log', async () => {
  await using s = await scene()
  const { h, keys: witnesses } = s
  const get = await s.receipt()
  const before = await get()
  const jwks = await jwksOf(h)
  const verdict = (of: { receipt: string; proof: string | null }, required?: number) =>
    verifyWitnessedReceipt({
      receipt: of.receipt,
      proof: of.proof ?? '',
      jwks,
      witnesses,
      required,
    })
  const missing = { decision: 'reject', reason: 'cosignatures_missing', cosigners: [] }
  assert.deepEqual(await verdict(before), missing)

  assert.equal((await s.round()).done, 3)
  const after = await get()
  assert.equal((await verdict(after)).decision, 'accept')
  assert.equal(await s.checkpoint(), after.proof?.slice(after.proof.indexOf('\n\n') + 2))

  for (let number = 0; number < 4; number++) {
    await s.grow()
    assert.equal((await s.round()).done, 3)
  }
  assert.deepEqual(
    s.witnesses.map((witness) => witness.size()),
    [5, 5, 5],
  )
  // The proof from the latest cosigned size needs no second request.
  assert.equal(s.witnesses[0].requests.length, 5)
  assert.match(s.witnesses[0].requests[4] ?? '', /^old 4\n/)
  assert.equal((await verdict(await get())).decision, 'accept')
})

test('the maintenance of a running service asks the witnesses', async () => {
  await using witness = await startWitness('w.example', LOG)
  await using h = await harness()
  const witnesses = (parseWitnesses(witness.setting) ?? []).map((each) =>
    witnessClient(each, h.clock),
  )
  const stop = startMaintenance(
    { ...h.service, witnesses },
    { log: pino({ level: 'silent' }), guard: new ClockGuard(h.clock) },
  )
  const { session } = await h.reach('completed')
  const policy = { witnesses: [witness.verifierKey] }
  const isCosigned = async () => {
    const { proof } = await read(h, session.id)
    const checkpoint = proof?.slice(proof.indexOf('\n\n') + 2) ?? ''
    const verdict = await verifyWitnesses(checkpoint, policy)
    return verdict.decision === 'accept'
  }
  for (let seconds = 0; !(await isCosigned()); seconds++) {
    assert.ok(seconds < 60, 'not cosigned within a minute')
    h.clock.advance(1_000)
    for (let turns = 0; turns < 20; turns++) await turn()
  }
  stop()
})

test('only cosignatures of different known keys on this text count', async () => {
  await using s = await scene()
  await s.grow()
  await s.round()
  const { keys: witnesses, witnesses: running } = s
  const note = await s.checkpoint()
  const body = note.slice(0, note.lastIndexOf('\n\n') + 1)
  const cosignersOf = async (lines: string, required = 1) =>
    verifyWitnesses(`${body}\n${lines}`, { witnesses, required })
  const [one, two] = running
  const line = one.cosignature(body)
  assert.deepEqual((await cosignersOf(line)).cosigners, ['w1.example'])
  assert.deepEqual(
    (await cosignersOf(line + line + one.cosignature(body, 7n), 2)).decision,
    'reject',
  )
  assert.equal((await cosignersOf(line + two.cosignature(body), 2)).decision, 'accept')
  for (const wrong of [
    one.cosignature(body.replace('1\n', '2\n')),
    one.cosignature(body, 1n, generateKeyPairSync('ed25519').privateKey),
    line.replace('w1.example', 'w3.example'),
    line.replace('— ', '- '),
    line.replace(/\n$/, ' x\n'),
    line.replaceAll(/[A-Za-z0-9+/=]{20,}/g, (text) => text.slice(0, -8)),
  ])
    assert.deepEqual((await cosignersOf(wrong)).cosigners, [], wrong)
  const [, first = ''] = /— \S+ (\S+)/.exec(line) ?? []
  for (let index = 0; index < first.length - 1; index++) {
    const text = `${first.slice(0, index)}${first[index] === 'A' ? 'B' : 'A'}${first.slice(index + 1)}`
    assert.deepEqual((await cosignersOf(line.replace(first, text))).cosigners, [], String(index))
  }
  const [key = ''] = witnesses
  for (const policy of [
    { witnesses: [], required: 0 },
    { witnesses, required: 0 },
    { witnesses, required: 4 },
    { witnesses, required: Number.NaN },
    { witnesses: [key, key], required: 2 },
    { witnesses: [key.replace(/\+.{8}\+/, '+00000000+')] },
    { witnesses: ['x'] },
  ])
    await assert.rejects(verifyWitnesses(note, policy), { code: 'invalid_configuration' })
})

test('a witness that never answers delays no receipt, and costs the others nothing', async () => {
  await using s = await scene()
  const { h } = s
  const [, two] = s.witnesses
  two.respond(() => ({ status: NEVER }))
  await s.grow()
  const round = s.round()
  while (two.requests.length === 0) await turn()
  const get = await s.receipt()
  assert.match((await get()).proof ?? '', /^2$/m)
  h.clock.advance(ROUND_MS)
  assert.equal((await round).done, 2)
  assert.deepEqual(await s.cosigners(), ['w1.example', 'w3.example'])
})

test('a witness that is down or wrong delays nothing and adds nothing', async () => {
  await using s = await scene()
  const [one, two, three] = s.witnesses
  const get = await s.receipt()
  assert.equal((await s.round()).done, 3)
  const wrongs: readonly Parameters<Witness['respond']>[0][] = [
    () => ({ status: 0 }),
    () => ({ status: 500 }),
    () => ({ status: 302 }),
    () => ({ status: 200, body: 'x'.repeat(1_000_000) }),
    () => ({ status: 200, body: one.cosignature('another text\n') }),
    () => ({ status: 200, body: two.cosignature('another text\n') }),
    () => ({ status: 409, body: 'many\n' }),
    // It names another size each time.
    () => ({ status: 409, body: '0\n' }),
    () => ({ status: 409, body: '999999\n' }),
    ({ status, body = '' }) => ({ status, body: body.replace('w2.example/a', 'w1.example') }),
  ]
  for (const [index, wrong] of wrongs.entries()) {
    two.respond(wrong)
    const before = two.requests.length
    await s.grow()
    assert.equal((await s.round()).done, 2, String(index))
    assert.deepEqual(await s.cosigners(), ['w1.example', 'w3.example'])
    assert.ok(two.requests.length - before <= 2)
  }
  // It returns at a size of its own, which it names.
  two.respond(undefined)
  await s.grow()
  assert.equal((await s.round()).done, 3)
  assert.equal(two.size(), wrongs.length + 2)
  // A line that the witness adds for another key is not published.
  two.respond(({ status, body = '' }) => ({ status, body: `— x AAAA\nsecret\n${body}` }))
  await s.grow()
  assert.equal((await s.round()).done, 3)
  assert.doesNotMatch(await s.checkpoint(), /— x|secret/)

  for (const witness of [one, two, three]) witness.respond(() => ({ status: 503 }))
  const late = await s.receipt()
  const size = sizeOf(await s.checkpoint())
  await assert.rejects(s.round(), WitnessError)
  assert.notEqual((await late()).proof, null)
  assert.match((await get()).proof ?? '', /— w1\.example/)
  // For a minute the log publishes what was cosigned, then what is new.
  assert.equal(sizeOf(await s.checkpoint()), size)
  s.h.clock.advance(6 * ROUND_MS)
  assert.equal(sizeOf(await s.checkpoint()), size + 1)
})

test('nodes share the rounds, and an unchanged checkpoint is cosigned again after an hour', async () => {
  await using s = await scene()
  const { h } = s
  assert.equal((await s.round()).done, 0)
  await s.grow()
  h.clock.advance(ROUND_MS)
  const both = await Promise.all([cosignCheckpoint(s.service), cosignCheckpoint(s.service)])
  assert.deepEqual(
    both.map(({ done }) => done).toSorted((a, b) => a - b),
    [0, 3],
  )
  assert.equal((await s.round()).done, 0)
  h.clock.advance(HOUR_MS)
  assert.equal((await s.round()).done, 3)
  assert.equal(s.witnesses[0].requests.length, 2)
})

test('a cosigned checkpoint replaces a smaller one only', async () => {
  await using s = await scene()
  const { store, clock } = s.h.service
  const cosigned: string[] = []
  for (const [note, size] of [
    ['two', 2],
    ['one', 1],
    ['again', 2],
    ['three', 3],
  ] as const) {
    const of = { epoch: '', size, now: clock.now() }
    await store.write(({ receiptLog }) => receiptLog.storeCosigned(note, of))
    cosigned.push((await store.read(({ receiptLog }) => receiptLog.head())).cosigned)
  }
  assert.deepEqual(cosigned, ['two', 'two', 'again', 'three'])
})

test('a log that was rewound gets no cosignature, and says why', async () => {
  await using s = await scene()
  for (const witness of s.witnesses)
    witness.respond(() => ({ status: 409, type: 'text/x.tlog.size', body: '7\n' }))
  await s.grow()
  await assert.rejects(s.round(), /has cosigned 7 entries, but the log has 1/)
})

test('doctor warns when no witness has cosigned for a day', async () => {
  await using s = await scene()
  const { h } = s
  assert.deepEqual((await reportReceiptLog(s.service)).warnings, [])
  await s.grow()
  assert.match((await reportReceiptLog(s.service)).warnings.join(''), /No witness .* yet/)
  await s.round()
  const { cosignedAt, origin, witnesses, ...report } = await reportReceiptLog(s.service)
  assert.deepEqual(report, {
    entries: 1,
    auditEntries: 0,
    closed: 0,
    checkpointSize: 1,
    cosignedSize: 1,
    warnings: [],
  })
  assert.equal(cosignedAt, h.clock.now())
  assert.match((await s.checkpoint()).split('\n', 1)[0] ?? '', new RegExp(`^${origin}$`))
  assert.deepEqual(
    witnesses.map(({ hasCosigned }) => hasCosigned),
    [true, true, true],
  )
  h.clock.advance(24 * HOUR_MS + 1)
  assert.match((await reportReceiptLog(s.service)).warnings.join(''), /No witness .* since 20/)
})

test('the setting accepts verifier keys of cosignatures with a URL, and rejects every other text', async () => {
  await using witness = await startWitness('w.example/1', LOG)
  const { setting, verifierKey } = witness
  const [only] = parseWitnesses(setting) ?? []
  // A key that signs notes of any kind (type 1) makes no cosignatures.
  const typed = Buffer.concat([Buffer.of(1), only?.publicKey ?? Buffer.alloc(0)])
  const keyId = createHash('sha256').update('w.example/1\n').update(typed).digest('hex')
  const notary = `w.example/1+${keyId.slice(0, 8)}+${typed.toString('base64')}`
  assert.match(String(only?.url), /^http:\/\/127\.0\.0\.1:\d+\/log\/add-checkpoint$/)
  assert.deepEqual(parseWitnesses(''), [])
  const plain = parseWitnesses(`${verifierKey} https://w.example`)
  assert.deepEqual(
    plain?.map(({ url, host }) => [url, host]),
    [['https://w.example/add-checkpoint', 'w.example:443']],
  )
  for (const wrong of [
    verifierKey,
    `${verifierKey} w.example`,
    `${verifierKey} ftp://w.example`,
    `${verifierKey} https://user@w.example`,
    `${verifierKey} https://w.example?x`,
    `${verifierKey} https://w.example more`,
    `${setting},`,
    `${setting}, ${setting}`,
    setting.replace('w.example/1', 'x.example/1'),
    setting.replace(verifierKey, notary),
  ])
    assert.equal(parseWitnesses(wrong), undefined, wrong)
})
