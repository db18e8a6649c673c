import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { readFileSync, readdirSync } from 'node:fs'
import { after, test } from 'node:test'
import type { EvidenceSignals, PassportSignal, PhoneSession, Workflow } from '@bonded/contract'
import {
  createSimulatedPhone,
  createPassportAuthority,
  createPassportChip,
  createPassport,
  nodeFetch,
  type SimulatedPassport,
} from '@bonded/simulator'
import { keyringOf } from '../../../../src/adapters/keys/keyring.ts'
import { passportVerifier } from '../../../../src/adapters/attestation/passport/passport-verifier.ts'
import {
  NO_PASSPORT_TRUST,
  type PassportTrust,
} from '../../../../src/adapters/attestation/passport/passport-trust.ts'
import {
  type Harness,
  harness,
  PUBLIC_ORIGIN,
  ROOT_KEY,
} from '../../../../../../tests/harness/harness.ts'
import { carriedSignals } from '../../../../../../tests/harness/phone.ts'
import { TestClock } from '../../../../../../tests/harness/test-clock.ts'

const NOW = new TestClock().now()
const NUMBER = 'QX7301946'
const WORKFLOWS: readonly Workflow[] = [
  { name: 'none', actions: ['act'] },
  { name: 'optional', actions: ['act'], passport: 'optional' },
  { name: 'required', actions: ['act'], passport: 'required' },
]

const madeUp = createPassportAuthority(NOW)
const real = createPassportAuthority(NOW, { country: 'AT' })
const trust: PassportTrust = {
  production: [real.countryCertificate],
  sandbox: [madeUp.countryCertificate],
}
const [rsa, ecdsa] = (['rsa', 'ecdsa'] as const).map((kind) =>
  createPassport(madeUp, { chip: createPassportChip({ kind }), mrz: { documentNumber: NUMBER } }),
)
const withoutChip = createPassport(madeUp)
assert.ok(rsa && ecdsa)

const h = await harness({ workflows: WORKFLOWS, passportTrust: trust })
after(() => h[Symbol.asyncDispose]())

const challengeOf = (nonce: string) => hash('sha256', `bond-aa/v1${nonce}`, 'buffer').subarray(0, 8)

/** The passport signal of a phone whose passport signed the challenge of this nonce. */
function signalOf(
  { sod, dg1, dg14, dg15, chip }: SimulatedPassport,
  nonce: string,
): PassportSignal {
  const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url')
  return {
    sod: text(sod),
    dg1: text(dg1),
    ...(dg14 && { dg14: text(dg14) }),
    ...(dg15 && { dg15: text(dg15) }),
    ...(chip && { active_authentication: text(chip.response(challengeOf(nonce))) }),
  }
}

async function begin(workflow: string, at: Harness = h) {
  const session = await at.create({ workflow })
  const phone = await at.register()
  await at.claim(phone, session)
  const seen = await at.view(phone, session)
  const signals = (passport?: PassportSignal): EvidenceSignals => ({
    ...carriedSignals(at.clock.now()),
    ...(passport && { passport }),
  })
  const evidence = (passport?: PassportSignal, view = seen) =>
    at.evidence(phone, view, signals(passport))
  const attest = (passport?: PassportSignal, view = seen) =>
    at.attest(phone, view, { signals: signals(passport) })
  const notes = async () => {
    const { entries } = (
      await at.api('GET', `/sessions/${session.id}/timeline`, { token: at.shop.server })
    ).body
    return entries.flatMap(
      ({ kind, reason, step }: { kind: string; reason: string; step: string | null }) =>
        kind === 'note' && reason.startsWith('passport') ? [`${reason} ${step}`] : [],
    )
  }
  return { session, phone, seen, evidence, attest, notes }
}

test('bonds where the chip is required if an RSA or ECDSA chip signs the challenge of the session', async () => {
  for (const passport of [rsa, ecdsa]) {
    const { seen, attest, notes } = await begin('required')
    const bonded = await attest(signalOf(passport, seen.nonce))
    assert.deepEqual([bonded.status, bonded.body.state], [200, 'bonded'])
    assert.deepEqual(bonded.body.verification.passport, { tier: 'chip' })
    assert.deepEqual(await notes(), [])
  }
})

test('includes only the tier and the time of a passport in the summary', async () => {
  const { seen, evidence } = await begin('optional')
  const { body } = await evidence(signalOf(rsa, seen.nonce))
  assert.deepEqual(body.verified_evidence.passport, { tier: 'chip', checked_at: h.now() })
})

test('requests a step-up where the chip is required and missing, and then bonds with the chip', async () => {
  const { session, phone, seen, attest } = await begin('required')
  const stepped = await attest(signalOf(withoutChip, seen.nonce))
  assert.deepEqual(
    [stepped.body.state, stepped.body.step_up],
    [
      'step_up_required',
      { required: ['passport_chip'], attempts_left: 2, reasons: ['passport_chip_missing'] },
    ],
  )
  const again: PhoneSession = await h.view(phone, session)
  // The chip signed the challenge of the first nonce.
  const late = await attest(signalOf(rsa, seen.nonce), again)
  assert.deepEqual([late.body.state, late.body.step_up.attempts_left], ['step_up_required', 1])
  const last: PhoneSession = await h.view(phone, session)
  const bonded = await attest(signalOf(rsa, last.nonce), last)
  assert.deepEqual(
    [bonded.body.state, bonded.body.verification.passport],
    ['bonded', { tier: 'chip' }],
  )
})

test('reads the passport of the simulated phone in a step-up, and stops a phone without one', async () => {
  const fetch: typeof nodeFetch = (url, request) =>
    nodeFetch(url.replace(PUBLIC_ORIGIN, `http://127.0.0.1:${h.running.port}`), request)
  for (const passport of [rsa, ecdsa]) {
    const { qr_payload } = await h.create({ workflow: 'required' })
    const result = await createSimulatedPhone({ origin: PUBLIC_ORIGIN, fetch, passport }).run(
      qr_payload,
      'approve',
    )
    assert.deepEqual(
      result.steps.map(({ state }) => state),
      ['pending', 'step_up_required', 'bonded'],
    )
  }
  const { qr_payload } = await h.create({ workflow: 'required' })
  const without = await createSimulatedPhone({ origin: PUBLIC_ORIGIN, fetch }).run(
    qr_payload,
    'approve',
  )
  assert.deepEqual(
    [without.state, without.rejection?.code, without.rejection?.reason],
    ['step_up_required', 'step_up_unsupported', 'passport_chip'],
  )
})

test('ends the session after three assertions without the chip', async () => {
  const { session, phone, attest } = await begin('required')
  for (const expected of ['step_up_required', 'step_up_required']) {
    assert.equal((await attest(undefined, await h.view(phone, session))).body.state, expected)
  }
  const rejected = await attest(undefined, await h.view(phone, session))
  assert.deepEqual([rejected.status, rejected.body.error.reason], [400, 'policy_not_met'])
  assert.equal((await h.get(session)).body.ended_reason, 'policy_not_met')
})

test('returns only the tier to the phone and records the failing check in the timeline', async () => {
  const other = createPassport(madeUp, { mrz: { documentNumber: 'X00000001' } })
  const flipped = Buffer.from(rsa.sod)
  flipped[flipped.length - 5] = (flipped[flipped.length - 5] ?? 0) ^ 1
  const cases: readonly (readonly [string, (nonce: string) => PassportSignal, string, string])[] = [
    [
      'another session’s answer',
      () => signalOf(rsa, 'x'.repeat(43)),
      'document',
      'passport_document aa_signature',
    ],
    ['no answer', () => signalOf(withoutChip, ''), 'document', 'passport_document aa_not_sent'],
    [
      'a changed signature',
      (nonce) => signalOf({ ...rsa, sod: flipped }, nonce),
      'none',
      'passport_none sod_signature',
    ],
    [
      'another passport’s DG1',
      (nonce) => signalOf({ ...rsa, dg1: other.dg1 }, nonce),
      'none',
      'passport_none dg_hash',
    ],
    [
      'a wrong country',
      (nonce) => signalOf(createPassport(madeUp, { mrz: { issuingState: 'AUT' } }), nonce),
      'none',
      'passport_none country',
    ],
    [
      'an expired one',
      (nonce) => signalOf(createPassport(madeUp, { mrz: { expiry: '251120' } }), nonce),
      'none',
      'passport_none expired',
    ],
    [
      'an unknown state',
      (nonce) => signalOf(createPassport(createPassportAuthority(NOW, { country: 'CH' })), nonce),
      'none',
      'passport_none csca_unknown',
    ],
    [
      'loose bits',
      (nonce) => ({ ...signalOf(rsa, nonce), dg1: 'AAAAB' }),
      'none',
      'passport_none encoding',
    ],
  ]
  for (const [what, signal, tier, note] of cases) {
    const { seen, evidence, notes } = await begin('optional')
    const response = await evidence(signal(seen.nonce))
    assert.deepEqual(
      [response.status, response.body.verified_evidence?.passport?.tier],
      [200, tier],
      what,
    )
    assert.deepEqual(await notes(), [note], what)
  }
})

test('omits the passport where the workflow does not use one', async () => {
  const { seen, evidence, notes } = await begin('none')
  const { body } = await evidence(signalOf(rsa, seen.nonce))
  assert.equal('passport' in body.verified_evidence, false)
  assert.deepEqual(await notes(), ['passport_not_asked null'])
})

test('accepts a test state for sandbox tenants only', async () => {
  const question = { nonce: 'n', passport: signalOf(rsa, 'n') }
  await using verifier = verifierOn(trust)
  const tier = async (environment: 'sandbox' | 'production', passport = question.passport) => {
    const result = await verifier.verify({ ...question, passport, environment })
    return result.ok ? [result.value.tier, result.value.note] : result.rejection
  }
  assert.deepEqual(await tier('sandbox'), ['chip', undefined])
  assert.deepEqual(await tier('production'), ['none', 'csca_unknown'])
  const austrian = signalOf(
    createPassport(real, {
      chip: createPassportChip({ kind: 'rsa' }),
      mrz: { issuingState: 'AUT' },
    }),
    'n',
  )
  assert.deepEqual(await tier('production', austrian), ['chip', undefined])
  assert.deepEqual(await tier('sandbox', austrian), ['chip', undefined])
})

test('derives one keyed hash per document, which does not contain its number', async () => {
  await using verifier = verifierOn(trust)
  const refOf = async (passport: SimulatedPassport) => {
    const result = await verifier.verify({
      passport: signalOf(passport, 'n'),
      nonce: 'n',
      environment: 'sandbox',
    })
    assert.ok(result.ok)
    assert.ok(!JSON.stringify(result.value).includes(NUMBER))
    return result.value.documentRef
  }
  assert.equal(await refOf(rsa), await refOf(ecdsa))
  assert.notEqual(await refOf(rsa), await refOf(withoutChip))
})

test('reports neither state nor keyed hash for a rejected passport', async () => {
  await using verifier = verifierOn(NO_PASSPORT_TRUST)
  const result = await verifier.verify({
    passport: signalOf(rsa, 'n'),
    nonce: 'n',
    environment: 'sandbox',
  })
  assert.deepEqual(result, { ok: true, value: { tier: 'none', note: 'csca_unknown' } })
})

test('rejects an oversized passport file as invalid_member before it verifies anything', async () => {
  const { seen, evidence } = await begin('optional')
  const signal = signalOf(rsa, seen.nonce)
  for (const [member, length] of Object.entries({
    sod: 43_692,
    dg1: 257,
    dg14: 10_924,
    dg15: 5_463,
    active_authentication: 1_367,
  })) {
    const rejected = await evidence({ ...signal, [member]: 'A'.repeat(length) })
    assert.deepEqual(
      [rejected.status, rejected.body.error.reason, rejected.body.error.param],
      [400, 'invalid_member', `signals.passport.${member}`],
    )
  }
  const picture = await evidence({ ...signal, dg2: 'AAAA' } as PassportSignal)
  assert.deepEqual([picture.status, picture.body.error.reason], [400, 'unknown_member'])
})

/** Two running verifications and a full queue. */
const CAPACITY = 50

test('rejects a passport as overloaded when the queue is full, serves requests without one, and replaces a hung worker', async () => {
  const clock = new TestClock()
  await using verifier = passportVerifier({
    trust: NO_PASSPORT_TRUST,
    keys: keyringOf([ROOT_KEY]),
    clock,
    script: new URL('../../workers/hanging-worker.ts', import.meta.url),
  })
  await using busy = await harness({ workflows: WORKFLOWS, passports: verifier })
  const one = { passport: signalOf(rsa, 'n'), nonce: 'n', environment: 'sandbox' } as const
  const waiting = Array.from({ length: CAPACITY }, () => verifier.verify(one))

  const { seen, evidence } = await begin('optional', busy)
  const rejected = await evidence(signalOf(rsa, seen.nonce))
  assert.deepEqual(
    [rejected.status, rejected.body.error.reason, rejected.headers['retry-after']],
    [503, 'overloaded', '1'],
  )
  assert.equal((await evidence()).status, 200)

  // Each deadline ends two tasks, and the next two start on new workers.
  for (const round of [waiting.slice(0, 2), waiting.slice(2, 4)]) {
    // Also the end of a worker that has not loaded yet.
    clock.advance(60_000)
    for (const result of await Promise.all(round))
      assert.deepEqual(result, { ok: true, value: { tier: 'none', note: 'timed_out' } })
  }
  await verifier[Symbol.asyncDispose]()
  for (const result of await Promise.all(waiting.slice(4)))
    assert.deepEqual(result, { ok: true, value: { tier: 'none', note: 'failed' } })
})

test('stores and logs no data of the holder', async () => {
  const { seen, attest } = await begin('required')
  assert.equal((await attest(signalOf(rsa, seen.nonce))).body.state, 'bonded')
  const stored = readdirSync(h.folder).map((name) =>
    readFileSync(`${h.folder}/${name}`).toString('latin1'),
  )
  for (const text of [...stored, ...h.lines])
    assert.doesNotMatch(
      text,
      new RegExp(`${NUMBER}|ERIKSSON|${rsa.dg1.toString('base64url').slice(0, 40)}`),
    )
})

function verifierOn(trusted: PassportTrust) {
  return passportVerifier({ trust: trusted, keys: keyringOf([ROOT_KEY]), clock: new TestClock() })
}
