import assert from 'node:assert/strict'
import { type Cases, type Result, type Run, runCases } from '../cases.ts'
import { idOf, type Members } from '../encoding.ts'
import { type Answer, create, type Tampering, type Target } from './probe.ts'
import { DEVICES, SESSIONS } from './session-cases.ts'
import { claimed, CONTEXT, evidenced, rejected, UNKNOWN_NONCE } from './steps.ts'

const MAX_FAILED_ASSERTIONS = 5

function bonded({ status, body }: Answer): void {
  assert.equal(status, 200, JSON.stringify(body))
  assert.equal(body['state'], 'bonded')
}

const reasonOf = ({ shiftMs }: Tampering) =>
  shiftMs === undefined ? 'assertion_invalid' : 'issued_at_out_of_range'

/** The case of an assertion that must not bond. The session still waits afterwards. */
const refused =
  (tampering: Tampering): Run<Target> =>
  async (target) => {
    const { phone, view, evidence, session } = await evidenced(target)
    rejected(await phone.attest(view, evidence, tampering), reasonOf(tampering))
    const { body } = await phone.read(session, view['nonce'])
    assert.equal(body['state'], 'pending')
  }

/** The case of an evidence request that the service must reject. */
const refusedEvidence =
  (tampering: Tampering): Run<Target> =>
  async (target) => {
    const { phone, view } = await claimed(target)
    rejected(await phone.evidence(view, tampering), reasonOf(tampering))
  }

const other = (name: string, value: unknown): Tampering => ({ payload: { [name]: value } })
const AGO_MS = -150_000
const AHEAD_MS = 60_000

/** Members of P that the service has other values of. */
const OTHERS: Members = {
  typ: 'bonded-assertion/v2',
  session_id: idOf('sess', 'other'),
  nonce: UNKNOWN_NONCE,
  device_id: idOf('dev', 'other'),
  subject_id: idOf('sub', 'other'),
  issued_at: '2026-11-21T09:30:03.000Z',
  tenant_id: idOf('ten', 'other'),
  workflow: 'other',
  action: 'other',
  origin: 'https://other.example',
  context: null,
  evidence: UNKNOWN_NONCE,
}

const EVIDENCE: Cases<Target> = {
  '7: evidence is for the signals that were signed': refusedEvidence(
    other('signals', UNKNOWN_NONCE),
  ),
  '7: evidence is for the nonce that was signed': refusedEvidence(other('nonce', UNKNOWN_NONCE)),
  '7: evidence needs an assertion over its own payload': refusedEvidence(
    other('typ', 'bonded-assertion/v1'),
  ),
  '7: evidence needs a counter above 0': refusedEvidence({ signing: { counter: 0 } }),
  '7: evidence needs an app id of the key': refusedEvidence({ signing: { appId: 'other' } }),
  '7: issued_at is at most 120 s old': refusedEvidence({ shiftMs: AGO_MS }),
  '7: issued_at is at most 30 s ahead': refusedEvidence({ shiftMs: AHEAD_MS }),
}

const ASSERTIONS: Cases<Target> = {
  async '5: a valid assertion bonds, and the same bytes again are 200'(target) {
    const { phone, view, evidence, session } = await evidenced(target)
    bonded(await phone.attest(view, evidence))
    bonded(await phone.repeat())
    const { body } = await phone.read(session, view['nonce'])
    assert.equal(body['state'], 'bonded')
    assert.equal(body['verification']?.device_possession, true)
  },
  async '5: a session without a context bonds with null in P'(target) {
    const { phone, view } = await claimed(target, null)
    const { body } = await phone.evidence(view)
    bonded(await phone.attest(view, body['verified_evidence']))
  },
  ...Object.fromEntries(
    Object.entries(OTHERS).map(([name, value]) => [
      `5: P has ${name} as the service stores it`,
      refused(other(name, value)),
    ]),
  ),
  '5: P has no further member': refused(other('a', 1)),
  '5: the signature is over P': refused({ signing: { signedPayload: 'another payload' } }),
  '5: the app id is the one of the key': refused({ signing: { appId: 'other' } }),
  async '5: the counter increases'(target) {
    const { phone, view, evidence } = await evidenced(target)
    const signing = { counter: phone.counter }
    rejected(await phone.attest(view, evidence, { signing }), 'assertion_invalid')
  },
  '5: issued_at is at most 120 s old': refused({ shiftMs: AGO_MS }),
  '5: issued_at is at most 30 s ahead': refused({ shiftMs: AHEAD_MS }),
  async '7: evidence counts unchanged only'(target) {
    const { phone, view, evidence } = await evidenced(target)
    const local_auth = { ...evidence['local_auth'], method: 'passkey' }
    rejected(await phone.attest(view, { ...evidence, local_auth }), 'assertion_invalid')
    rejected(await phone.attest(view, { ...evidence, a: 1 }), 'assertion_invalid')
  },
  async '7: evidence counts for its own session only'(target) {
    const { phone, evidence } = await evidenced(target)
    const { body: view } = await phone.claim(await create(target, CONTEXT))
    rejected(await phone.attest(view, evidence), 'assertion_invalid')
  },
  async '4: five assertions that fail end the session'(target) {
    const { phone, view, evidence, session } = await evidenced(target)
    const tampering = { signing: { signedPayload: 'another payload' } }
    for (let sent = 0; sent < MAX_FAILED_ASSERTIONS; sent++)
      rejected(await phone.attest(view, evidence, tampering), 'assertion_invalid')
    rejected(await phone.attest(view, evidence), 'session_not_live')
    const { body } = await phone.read(session, view['nonce'])
    assert.deepEqual([body['state'], body['ended_reason']], ['killed', 'not_verified'])
  },
}

/** Runs every case against a service, whose sessions the adapter creates. */
export function runService(target: Target): Promise<readonly Result[]> {
  return runCases({ ...DEVICES, ...SESSIONS, ...EVIDENCE, ...ASSERTIONS }, target)
}
