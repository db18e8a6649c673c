import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import type {
  EvidenceSignals,
  PassportSignal,
  PhoneSession,
  StepUpKind,
  Workflow,
} from '@bonded/contract'
import { createPassportAuthority, createPassportChip, createPassport } from '@bonded/simulator'
import type { CarrierProvider } from '../../src/ports/carrier.ts'
import { asTestRoots, ATTESTED_KEYS } from '../harness/attested-phones.ts'
import { type Harness, harness } from '../harness/harness.ts'
import { type AttestedKey, carriedSignals } from '../harness/phone.ts'
import { TestClock } from '../harness/test-clock.ts'

type Format = AttestedKey['format'] | 'software'
const FORMATS: readonly (readonly [format: Format, make: () => AttestedKey | undefined])[] = [
  ...ATTESTED_KEYS,
  ['software', () => undefined],
]

const authority = createPassportAuthority(new TestClock().now())
const passport = createPassport(authority, { chip: createPassportChip({ kind: 'ecdsa' }) })

/** The operator says yes to whom it knows by the token of its SIM. */
const operator: CarrierProvider = {
  check: async ({ signal }) => {
    const known = signal?.operator_token !== undefined
    return {
      finding: {
        number_verified: known,
        sim_swap_recent: !known,
        device_status: known ? 'active' : 'unknown',
        source: 'camara',
      },
    }
  },
}

/** What a phone shows that has everything. */
function everything(h: Harness, { nonce }: PhoneSession): EvidenceSignals {
  return {
    ...carriedSignals(h.clock.now()),
    carrier: { operator_token: 'sim' },
    passport: readOut(nonce),
  }
}

interface Kind {
  readonly workflow: Omit<Workflow, 'name' | 'actions'>
  readonly reason: string
  /** The same phone without the one proof. */
  readonly without: (signals: EvidenceSignals) => EvidenceSignals
  /** Keys that show the proof by themselves, at each bond. */
  readonly never?: readonly Format[]
}

const failed = (signals: EvidenceSignals): EvidenceSignals => ({
  ...signals,
  local_auth: { ...signals.local_auth, result: 'failed', method: 'none' },
})
const still = (signals: EvidenceSignals): EvidenceSignals => ({
  ...signals,
  sensor_continuity: { window_ms: 1_000, features: [] },
})

/** Every kind of step-up there is: a new one does not compile until it has a line. */
const KINDS: Readonly<Record<StepUpKind, Kind>> = {
  local_auth: {
    workflow: { require: ['local_auth'] },
    reason: 'local_auth_not_verified',
    without: failed,
    never: ['webauthn'],
  },
  sensor_continuity: {
    workflow: { require: ['sensor_continuity'] },
    reason: 'continuity_below_threshold',
    without: still,
  },
  carrier: {
    workflow: { require: ['carrier'] },
    reason: 'number_not_verified',
    without: ({ carrier: _gone, ...rest }) => rest,
  },
  passport_chip: {
    workflow: { passport: 'required' },
    reason: 'passport_chip_missing',
    without: ({ passport: _gone, ...rest }) => rest,
  },
  'band:medium': {
    workflow: { require: ['band:medium'] },
    reason: 'band_below_medium',
    without: ({ passport: _gone, ...rest }) => still(failed(rest)),
  },
  'band:high': { workflow: { require: ['band:high'] }, reason: 'band_below_high', without: still },
}

for (const [format, makeKey] of FORMATS) {
  for (const [kind, { workflow, reason, without, never = [] }] of Object.entries(KINDS) as [
    StepUpKind,
    Kind,
  ][]) {
    if (never.includes(format)) {
      test(`${format}: ${kind} is never asked for, because each bond shows it`, async () => {
        await using h = await setUp(workflow)
        const { phone, session } = await claimed(h, makeKey)
        const view = await h.view(phone, session)
        assert.equal(
          (await h.attest(phone, view, { signals: without(everything(h, view)) })).body.state,
          'bonded',
        )
      })
      continue
    }
    test(`${format}: requires ${kind}, bonds once the phone shows it, and ends the session at the third miss`, async () => {
      await using h = await setUp(workflow)
      for (const misses of [0, 1, 2, 3]) {
        const { phone, session } = await claimed(h, makeKey)
        const step = async (change: (signals: EvidenceSignals) => EvidenceSignals) => {
          const view = await h.view(phone, session)
          return h.attest(phone, view, { signals: change(everything(h, view)) })
        }
        for (let miss = 1; miss <= Math.min(misses, 2); miss++) {
          const { status, body, text } = await step(without)
          assert.deepEqual(
            [status, body.state, body.step_up],
            [
              200,
              'step_up_required',
              { required: [kind], attempts_left: 3 - miss, reasons: [reason] },
            ],
            text,
          )
          assert.equal((await h.get(session)).body.verification, null)
        }
        const last = await step(misses === 3 ? without : (signals) => signals)
        if (misses === 3)
          assert.deepEqual([last.status, last.body.error.reason], [400, 'policy_not_met'])
        const { state, ended_reason } = (await h.get(session)).body
        assert.deepEqual(
          [state, ended_reason],
          misses === 3 ? ['killed', 'policy_not_met'] : ['bonded', null],
          `after ${misses} misses`,
        )
        if (misses === 3) continue
        // A phone knows what it attested with, so the service reveals the end to that.
        const { nonce } = last.body
        assert.equal((await h.complete(session)).status, 200)
        assert.equal((await h.view(phone, { ...session, nonce })).state, 'completed')
      }
    })
  }
}

function setUp(workflow: Kind['workflow']): Promise<Harness> {
  const workflows = [
    { passport: 'optional' as const, ...workflow, name: 'demanding', actions: ['act'] },
  ]
  const passportTrust = { production: [], sandbox: [authority.countryCertificate] }
  return harness({ attestation: asTestRoots, workflows, passportTrust, carrier: () => operator })
}

async function claimed(h: Harness, makeKey: () => AttestedKey | undefined) {
  const phone = await h.register(undefined, makeKey())
  const session = await h.create({ workflow: 'demanding', phone_number: '+491701234567' })
  await h.claim(phone, session)
  return { phone, session }
}

/** What a phone reads of a passport that it is held to, for this nonce. */
function readOut(nonce: string): PassportSignal {
  const { sod, dg1, dg14, dg15, chip } = passport
  const text = (bytes: Uint8Array | undefined) => Buffer.from(bytes ?? []).toString('base64url')
  const challenge = hash('sha256', `bond-aa/v1${nonce}`, 'buffer').subarray(0, 8)
  return {
    sod: text(sod),
    dg1: text(dg1),
    dg14: text(dg14),
    dg15: text(dg15),
    active_authentication: text(chip?.answer(challenge)),
  }
}
