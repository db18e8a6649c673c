import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { after, test } from 'node:test'
import type {
  EvidenceSignals,
  PassportSignal,
  PhoneSession,
  StepUpKind,
  Workflow,
} from '@bonded/contract'
import { createPassportAuthority, createPassportChip, createPassport } from '@bonded/simulator'
import type { CarrierProvider } from '../../../core/src/ports/carrier.ts'
import { asTestRoots, ATTESTED_KEYS } from '../../../../tests/harness/attested-phones.ts'
import { harness } from '../../../../tests/harness/harness.ts'
import { type AttestedKey, carriedSignals } from '../../../../tests/harness/phone.ts'
import { TestClock } from '../../../../tests/harness/test-clock.ts'

type Format = AttestedKey['format'] | 'software'
const FORMATS: readonly (readonly [format: Format, make: () => AttestedKey | undefined])[] = [
  ...ATTESTED_KEYS,
  ['software', () => undefined],
]

const authority = createPassportAuthority(new TestClock().now())
const passport = createPassport(authority, { chip: createPassportChip({ kind: 'ecdsa' }) })

/** A carrier that verifies every phone with a SIM token. */
const carrier: CarrierProvider = {
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

/** The signals of a phone with every proof. */
function everything({ nonce }: PhoneSession): EvidenceSignals {
  return {
    ...carriedSignals(h.clock.now()),
    carrier: { operator_token: 'sim' },
    passport: readOut(nonce),
  }
}

interface Kind {
  readonly workflow: Omit<Workflow, 'name' | 'actions'>
  readonly reason: string
  /** Removes the one proof. */
  readonly without: (signals: EvidenceSignals) => EvidenceSignals
  /** Formats whose bond includes the proof. */
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

/** Every kind of step-up. A new one does not compile without an entry. */
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
    never: ['webauthn'],
  },
  'band:high': { workflow: { require: ['band:high'] }, reason: 'band_below_high', without: still },
}

/** Workflow names contain no colon. */
const workflowOf = (kind: string) => kind.replace(':', '_')

// One service for all tests, because its workers verify the registrations and the passports.
const h = await harness({
  attestation: asTestRoots,
  passportTrust: { production: [], sandbox: [authority.countryCertificate] },
  carrier: () => carrier,
  workflows: Object.entries(KINDS).map(([kind, { workflow }]) => ({
    passport: 'optional' as const,
    ...workflow,
    name: workflowOf(kind),
    actions: ['act'],
  })),
})
after(() => h[Symbol.asyncDispose]())

for (const [format, makeKey] of FORMATS) {
  for (const [kind, { reason, without, never = [] }] of Object.entries(KINDS) as [
    StepUpKind,
    Kind,
  ][]) {
    if (never.includes(format)) {
      test(`${format}: never requires ${kind}, because each bond includes it`, async () => {
        const { phone, session } = await claimed(kind, makeKey)
        const view = await h.view(phone, session)
        assert.equal(
          (await h.attest(phone, view, { signals: without(everything(view)) })).body.state,
          'bonded',
        )
      })
      continue
    }
    test(`${format}: requires ${kind}, bonds once the phone shows it, and ends the session at the third miss`, async () => {
      for (const misses of [0, 1, 2, 3]) {
        const { phone, session } = await claimed(kind, makeKey)
        const step = async (change: (signals: EvidenceSignals) => EvidenceSignals) => {
          const view = await h.view(phone, session)
          return h.attest(phone, view, { signals: change(everything(view)) })
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
        // The phone reads the end with the nonce that it last attested with.
        const { nonce } = last.body
        assert.equal((await h.complete(session)).status, 200)
        assert.equal((await h.view(phone, { ...session, nonce })).state, 'completed')
      }
    })
  }
}

async function claimed(kind: string, makeKey: () => AttestedKey | undefined) {
  const phone = await h.register(undefined, makeKey())
  const session = await h.create({ workflow: workflowOf(kind), phone_number: '+491701234567' })
  await h.claim(phone, session)
  return { phone, session }
}

/** The files of the passport, and the response of its chip for this nonce. */
function readOut(nonce: string): PassportSignal {
  const { sod, dg1, dg14, dg15, chip } = passport
  const text = (bytes: Uint8Array | undefined) => Buffer.from(bytes ?? []).toString('base64url')
  const challenge = hash('sha256', `bond-aa/v1${nonce}`, 'buffer').subarray(0, 8)
  return {
    sod: text(sod),
    dg1: text(dg1),
    dg14: text(dg14),
    dg15: text(dg15),
    active_authentication: text(chip?.response(challenge)),
  }
}
