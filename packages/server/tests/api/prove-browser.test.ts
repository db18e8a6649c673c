import assert from 'node:assert/strict'
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { browserPayload, credentialName } from '@bonded/contract'
import { createAuthenticator } from '../../../simulator/src/webauthn/authenticator.ts'
import { ADDED_PHONE_WAIT_MS, EVIDENCE_TTL_MS } from '../../../core/src/domain/lifetimes.ts'
import { moveDevice } from '../../../core/src/operations/admin/devices.ts'
import { resumeTenant, suspendTenant } from '../../../core/src/operations/admin/suspend-tenant.ts'
import { changeSubject } from '../../../core/src/operations/admin/subjects.ts'
import { PUBLIC_ORIGIN, SHOP_ORIGIN } from '../../../../tests/harness/harness.ts'
import { attestation } from '../../../../tests/harness/phone.ts'
import {
  asBackend,
  asPage,
  approve,
  claimed,
  createFor,
  newSecret,
  OTHER_ORIGIN,
  passkeyPhone,
  prove,
  reasonOf,
  send,
  setUp,
  shaOf,
  stepsOf,
  WORKFLOWS,
  type Bend,
} from './browser-prover.ts'

/*
 * The proof of the browser (protocol 14): no session that requires it bonds with the approval
 * alone, none with both stays unbonded, and no attempt is counted.
 */

test('the phone approves, then the browser proves itself, and only its secret reads the verification', async () => {
  await using s = await setUp()
  const of = await passkeyPhone(s.h)
  const session = await createFor(s)
  assert.equal((await asPage(s, session)).browser, null)
  const approved = await approve(s, of, session)
  assert.equal(approved.body.state, 'step_up_required', approved.text)
  assert.deepEqual(approved.body.step_up, {
    required: ['browser'],
    attempts_left: 3,
    reasons: ['browser_not_confirmed'],
  })
  const page = await asPage(s, session)
  assert.deepEqual([page.hint, page.browser_commitment], ['browser', undefined])
  assert.deepEqual(page.browser, {
    rp_id: new URL(PUBLIC_ORIGIN).hostname,
    allow_credentials: [],
    credential_hashes: [shaOf(credentialName(session.id, of.authenticator.credentialId))],
    timeout_ms: 120_000,
    frame_url: `${PUBLIC_ORIGIN}/frame/${s.shop.tenant.id}`,
  })
  assert.equal((await asBackend(s, session)).verification, null)

  const secret = newSecret()
  const proved = await prove(s, of, session, secret)
  assert.deepEqual([proved.status, proved.body.state, proved.body.browser], [200, 'bonded', null])
  assert.equal((await asPage(s, session)).browser_commitment, shaOf(secret))
  assert.equal((await asBackend(s, session)).verification, null)
  assert.equal((await asBackend(s, session, newSecret())).verification, null)
  const full = await asBackend(s, session, secret)
  assert.deepEqual(full.verification.browser, {
    origin: SHOP_ORIGIN,
    proved_at: new Date(s.h.clock.now()).toISOString(),
  })
  assert.equal((await s.h.complete(session, {}, s.shop)).status, 200)
  assert.equal((await asBackend(s, session)).verification, null)
  assert.notEqual((await asBackend(s, session, secret)).verification, null)
})

test('a passkey with the longest id of WebAuthn registers, approves, and proves the browser', async () => {
  await using s = await setUp()
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const credentialId = randomBytes(1_023).toString('base64url')
  const of = await passkeyPhone(s.h, undefined, { credentialId, privateKey })
  const session = await createFor(s)
  const approved = await approve(s, of, session)
  assert.equal(approved.body.state, 'step_up_required', approved.text)
  const proved = await prove(s, of, session, newSecret())
  assert.deepEqual([proved.status, proved.body.state], [200, 'bonded'], proved.text)
})

test('repeated proofs answer 200, in every order, and count no attempt', async () => {
  await using s = await setUp()
  const of = await passkeyPhone(s.h)
  const session = await createFor(s)
  const secret = newSecret()
  assert.equal(reasonOf(await prove(s, of, session, secret)), 'session_not_live')
  await s.h.claim(of.phone, session)
  const view = await s.h.view(of.phone, session)
  const evidence = (await s.h.evidence(of.phone, view)).body.verified_evidence
  const body = attestation(of.phone, view, evidence, s.h.now())
  const attest = () => s.h.api('POST', '/attestations', { token: of.phone.device_token, body })
  for (let round = 0; round < 3; round++) {
    const reply = await attest()
    assert.deepEqual([reply.status, reply.body.step_up.attempts_left], [200, 3])
  }
  // A fresh assertion, of a phone that lost its response and its memory, changes nothing either.
  const again = await s.h.attest(of.phone, await s.h.view(of.phone, session))
  assert.deepEqual([again.status, again.body.step_up.attempts_left], [200, 3], again.text)
  const commitment = shaOf(secret)
  const fields = {
    session_id: session.id,
    tenant_id: s.shop.tenant.id,
    workflow: 'bound',
    action: 'act',
  }
  const payload = browserPayload({ ...fields, origin: SHOP_ORIGIN, commitment })
  const proof = { commitment, assertion: of.authenticator.confirm(payload, SHOP_ORIGIN) }
  for (let round = 0; round < 3; round++)
    assert.equal((await send(s, session, proof)).body.state, 'bonded')
  assert.equal((await s.h.attest(of.phone, view)).status, 400)
  assert.equal(reasonOf(await prove(s, of, session, newSecret())), 'session_not_live')
})

const fake = createAuthenticator({ origin: PUBLIC_ORIGIN })
const WRONGS: readonly (readonly [step: string, bend: Bend])[] = [
  ['challenge', { fields: { session_id: `sess_${'a'.repeat(22)}` } }],
  ['challenge', { fields: { tenant_id: `ten_${'a'.repeat(22)}` } }],
  ['challenge', { fields: { workflow: 'free' } }],
  ['challenge', { fields: { action: 'other' } }],
  ['challenge', { fields: { origin: OTHER_ORIGIN } }],
  ['challenge', { fields: { commitment: shaOf('another') } }],
  ['origin', { tamper: { clientData: { origin: 'https://evil.example' } } }],
  ['origin', { tamper: { clientData: { origin: OTHER_ORIGIN } } }],
  ['cross_origin', { tamper: { clientData: { crossOrigin: true } } }],
  ['cross_origin', { tamper: { clientData: { topOrigin: SHOP_ORIGIN } } }],
  ['type', { tamper: { clientData: { type: 'webauthn.create' } } }],
  ['user_verified', { tamper: { flags: 1 } }],
  ['counter', { tamper: { counter: 1 } }],
  ['credential', { from: fake }],
]
for (const [step, bend] of WRONGS)
  test(`rejects a proof with the wrong ${step}: ${JSON.stringify(bend.from ? 'key' : bend)}`, async () => {
    await using s = await setUp()
    const of = await passkeyPhone(s.h)
    const session = await createFor(s)
    await approve(s, of, session)
    const rejected = await prove(s, of, session, newSecret(), bend)
    assert.deepEqual([rejected.status, reasonOf(rejected)], [400, 'browser_proof_invalid'])
    assert.deepEqual(await stepsOf(s, session), [step])
    assert.equal((await asPage(s, session)).state, 'step_up_required')
    assert.equal((await prove(s, of, session, newSecret())).body.state, 'bonded')
  })

test('rejects another key of the same subject, also with the id of the right one', async () => {
  await using s = await setUp()
  const of = await passkeyPhone(s.h)
  const second = await passkeyPhone(s.h, of.phone)
  const session = await createFor(s)
  await approve(s, of, session)
  await prove(s, of, session, newSecret(), { from: second.authenticator })
  const commitment = shaOf(newSecret())
  const payload = browserPayload({
    session_id: session.id,
    tenant_id: s.shop.tenant.id,
    workflow: 'bound',
    action: 'act',
    origin: SHOP_ORIGIN,
    commitment,
  })
  const assertion = second.authenticator.confirm(payload, SHOP_ORIGIN)
  await send(s, session, {
    commitment,
    assertion: { ...assertion, id: of.authenticator.credentialId },
  })
  assert.deepEqual(await stepsOf(s, session), ['credential', 'signature'])
})

test('rejects a page of another origin, a wrong watch token, and a proof before the approval', async () => {
  await using s = await setUp()
  const of = await passkeyPhone(s.h)
  const session = await createFor(s)
  assert.equal(reasonOf(await prove(s, of, session, newSecret())), 'session_not_live')
  await approve(s, of, session)
  const foreign = await prove(s, of, session, newSecret(), { header: 'https://evil.example' })
  assert.equal(reasonOf(foreign), 'origin_not_allowed')
  const watch = `bwt_${'a'.repeat(43)}`
  assert.equal(reasonOf(await prove(s, of, session, newSecret(), { watch })), 'session_not_found')
  assert.deepEqual(await stepsOf(s, session), [])
})

test('checks the phone again when the proof arrives', async () => {
  await using s = await setUp()
  for (const verb of ['block', 'remove'] as const) {
    const of = await passkeyPhone(s.h)
    const session = await createFor(s)
    await approve(s, of, session)
    await moveDevice(s.h.service, of.phone.device_id as never, verb)
    const rejected = await prove(s, of, session, newSecret())
    assert.equal(reasonOf(rejected), 'browser_proof_invalid', verb)
    assert.equal((await asPage(s, session)).state, 'step_up_required')
  }
})

test('checks the subject again when the proof arrives', async () => {
  await using s = await setUp()
  const of = await passkeyPhone(s.h)
  const session = await createFor(s)
  await approve(s, of, session)
  await changeSubject(s.h.service, of.phone.subject_id as never, 'block')
  assert.equal(reasonOf(await prove(s, of, session, newSecret())), 'browser_proof_invalid')
  assert.deepEqual(await stepsOf(s, session), ['subject_blocked'])
  await changeSubject(s.h.service, of.phone.subject_id as never, 'unblock')
  assert.equal((await prove(s, of, session, newSecret())).body.state, 'bonded')

  // A block by the tenant ends the session that waits for its browser.
  const { subject_ref } = (await s.h.get(session, s.shop)).body
  const next = await createFor(s)
  await approve(s, of, next)
  await s.h.api('POST', `/subjects/${subject_ref}/block`, { token: s.shop.server })
  assert.equal(reasonOf(await prove(s, of, next, newSecret())), 'session_not_live')
  assert.equal((await s.h.get(next, s.shop)).body.ended_reason, 'killed_by_tenant')
})

test('asks the phone for a fresh approval when its evidence has expired, and extends the session once', async () => {
  await using s = await setUp()
  const of = await passkeyPhone(s.h)
  const session = await createFor(s)
  const evidence = (await s.h.evidence(of.phone, await claimed(s, of, session))).body
  // Evidence of the first second, an approval at 119 s, and one more at 299 s, of 300 s.
  s.h.clock.advance(119_000)
  const body = attestation(
    of.phone,
    await s.h.view(of.phone, session),
    evidence.verified_evidence,
    s.h.now(),
  )
  await s.h.api('POST', '/attestations', { token: of.phone.device_token, body })
  assert.equal((await asPage(s, session)).browser?.timeout_ms, 120_000)
  s.h.clock.advance(180_000)
  assert.equal((await asPage(s, session)).browser?.timeout_ms, 1_000)
  const approved = await s.h.attest(of.phone, await s.h.view(of.phone, session))
  assert.deepEqual(approved.body.step_up.required, ['browser'], approved.text)
  assert.equal((await asPage(s, session)).expires_in_ms, 120_000)
  s.h.clock.advance(119_000)
  const last = await s.h.attest(of.phone, await s.h.view(of.phone, session))
  assert.deepEqual(last.body.step_up.required, ['browser'], last.text)
  assert.equal((await asPage(s, session)).expires_in_ms, 2_000)
  assert.equal((await prove(s, of, session, newSecret())).body.state, 'bonded')
})

test('rejects a proof after the evidence has expired, and tells the phone', async () => {
  await using s = await setUp()
  const shop = await s.h.addTenant({
    workflows: [{ ...WORKFLOWS[0]!, session_ttl_seconds: 900 }],
    origins: [SHOP_ORIGIN],
  })
  const long = { ...s, shop }
  const of = await passkeyPhone(s.h)
  const session = await createFor(long)
  await approve(long, of, session)
  s.h.clock.advance(EVIDENCE_TTL_MS)
  assert.equal(reasonOf(await prove(long, of, session, newSecret())), 'session_not_live')
  const view = await s.h.view(of.phone, session)
  assert.deepEqual(view.step_up, {
    required: ['local_auth'],
    attempts_left: 3,
    reasons: ['evidence_expired'],
  })
  assert.equal((await s.h.attest(of.phone, view)).status, 200)
  assert.equal((await prove(long, of, session, newSecret())).body.state, 'bonded')
})

test('after eight failed proofs the phone must approve again, and the session goes on', async () => {
  await using s = await setUp()
  const of = await passkeyPhone(s.h)
  const session = await createFor(s)
  await approve(s, of, session)
  for (let index = 0; index < 8; index++) {
    assert.equal((await asPage(s, session)).hint, 'browser')
    const rejected = await prove(s, of, session, newSecret(), { from: fake })
    assert.equal(reasonOf(rejected), 'browser_proof_invalid')
  }
  const page = await asPage(s, session)
  assert.deepEqual([page.state, page.hint, page.browser], ['step_up_required', 'step_up', null])
  assert.equal(reasonOf(await prove(s, of, session, newSecret())), 'session_not_live')
  const view = await s.h.view(of.phone, session)
  assert.deepEqual(view.step_up?.required, ['local_auth'])
  s.h.clock.advance(1)
  const approved = await s.h.attest(of.phone, view)
  assert.deepEqual(approved.body.step_up.required, ['browser'], approved.text)
  assert.equal((await prove(s, of, session, newSecret())).body.state, 'bonded')
})

test('the user and the page can end the session while the browser is missing', async () => {
  await using s = await setUp()
  const of = await passkeyPhone(s.h)
  const session = await createFor(s)
  const approved = await approve(s, of, session)
  const declined = await s.h.decline(of.phone, approved.body, 'user_unexpected')
  assert.equal(declined.body.state, 'killed', declined.text)
  assert.equal(reasonOf(await prove(s, of, session, newSecret())), 'session_not_live')
})

test('an added phone waits 72 hours, and a phone without a passkey does not serve', async () => {
  await using s = await setUp()
  const of = await passkeyPhone(s.h)
  s.h.clock.advance(1)
  const first = await createFor(s)
  await approve(s, of, first)
  const secret = newSecret()
  await prove(s, of, first, secret)
  const { subject_ref } = await asBackend(s, first, secret)
  const added = await passkeyPhone(s.h, of.phone)
  s.h.clock.advance(ADDED_PHONE_WAIT_MS - 1)
  const early = await s.h.claim(added.phone, await createFor(s, { subject_ref }))
  assert.equal(reasonOf(early), 'key_too_new')
  s.h.clock.advance(1)
  assert.equal((await s.h.claim(added.phone, await createFor(s, { subject_ref }))).status, 200)
  const software = await s.h.register()
  const rejected = await s.h.claim(software, await createFor(s))
  const { reason, param } = (rejected.body as { error: { reason: string; param: string } }).error
  assert.deepEqual([reason, param], ['key_format_not_accepted', 'browser_key'])
})

test('a suspension ends what waits for the browser, and its proof gets the reason', async () => {
  await using s = await setUp()
  const of = await passkeyPhone(s.h)
  const ended = await createFor(s)
  await approve(s, of, ended)
  await suspendTenant(s.h.service, s.shop.tenant.id)
  assert.equal(reasonOf(await prove(s, of, ended, newSecret())), 'tenant_suspended')
  await resumeTenant(s.h.service, s.shop.tenant.id)
  const open = await createFor(s)
  await approve(s, of, open)
  // As the service is before the suspension has ended its sessions.
  await s.h.service.store.write((tables) =>
    tables.tenants.setSuspended(s.shop.tenant.id, s.h.clock.now()),
  )
  assert.equal(reasonOf(await prove(s, of, open, newSecret())), 'tenant_suspended')
  assert.deepEqual(await stepsOf(s, open), [])
})
