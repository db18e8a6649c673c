import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import {
  type AuthenticatorOptions,
  createAuthenticator,
  selfAttestation,
} from '../../../simulator/src/webauthn/authenticator.ts'
import { checkRpIds } from '../../../core/src/operations/admin/relying-parties.ts'
import {
  RP_ID,
  WORKFLOWS,
  addPhone,
  appPhone,
  approveWith,
  browserKeyOf,
  challengeOf,
  claimWith,
  createFor,
  keysOf,
  newBrowserKey,
  notesOf,
  prove,
  reasonOf,
  serviceForBrowserKeys,
  setUp,
  stateOf,
} from '../../../../tests/harness/app-phones.ts'
import { androidKey, appleKey, webauthnKey } from '../../../../tests/harness/attested-phones.ts'
import { newPasskey } from '../../../../tests/harness/browser-proof.ts'
import { PUBLIC_ORIGIN, SHOP_ORIGIN } from '../../../../tests/harness/harness.ts'
import {
  approvalRequest,
  type AttestedKey,
  attestation,
  recoveryRequest,
  removalRequest,
  type TestPhone,
} from '../../../../tests/harness/phone.ts'

/*
 * The browser key of an app's phone (protocol 6 and 14): a passkey that answers only in the
 * browser. Only the phone's own key registers it.
 */

const shared = await serviceForBrowserKeys()
after(() => shared[Symbol.asyncDispose]())

test('an app registers its browser key with an approval, and the key answers in the browser', async () => {
  const s = await setUp(shared)
  const { h } = s
  const phone = await h.register()
  const session = await createFor(s)
  // An app that knows nothing of the browser stops before the user approves.
  assert.equal(reasonOf(await h.claim(phone, session)), 'key_format_not_accepted')
  assert.equal((await claimWith(s, phone, session)).status, 200)
  const view = await h.view(phone, session)
  assert.equal(reasonOf(await h.attest(phone, view)), 'browser_key_required')

  const { authenticator, browserKey } = await newBrowserKey(h)
  const approved = await h.attest(phone, view, { tampering: { browserKey } })
  assert.deepEqual(approved.body.step_up?.required, ['browser'], approved.text)
  assert.equal((await browserKeyOf(h, phone)).rp_id, RP_ID)
  const proved = await prove(s, session, authenticator)
  assert.equal(proved.body.state, 'bonded', proved.text)

  const next = await createFor(s)
  assert.equal((await h.claim(phone, next)).status, 200)
  assert.equal((await h.attest(phone, await h.view(phone, next))).body.state, 'step_up_required')
  assert.equal((await prove(s, next, authenticator)).body.state, 'bonded')
})

const APP_KEYS: readonly (readonly [string, () => AttestedKey])[] = [
  ['App Attest', appleKey],
  ['Android', androidKey],
]
for (const [name, newAppKey] of APP_KEYS)
  test(`an app of ${name} registers its browser key with its first key`, async () => {
    const s = await setUp(shared)
    const { h } = s
    const key = newAppKey()
    const authenticator = createAuthenticator({ origin: `https://${RP_ID}`, rpId: RP_ID })
    const phone = await h.register(undefined, {
      ...key,
      register: (challenge) => ({
        ...key.register(challenge),
        browser_key: authenticator.register(challenge),
      }),
    })
    const [listed] = await keysOf(h, phone)
    assert.equal(listed.browser_key.rp_id, RP_ID)
    const session = await createFor(s)
    assert.equal((await h.claim(phone, session)).status, 200)
    const approved = await h.attest(phone, await h.view(phone, session))
    assert.equal(approved.body.state, 'step_up_required', approved.text)
    assert.equal((await prove(s, session, authenticator)).body.state, 'bonded')
  })

test('a stolen device token plants no browser key', async () => {
  const s = await setUp(shared)
  const { h } = s
  const { phone, authenticator } = await appPhone(s)
  const evil = await newBrowserKey(h)
  const token = phone.device_token

  // As a further key of the subject: needs an approval, which covers the browser key.
  const { body } = await h.registration()
  const passkey = createAuthenticator({ origin: PUBLIC_ORIGIN })
  const planted = { ...body, browser_key: passkey.register(body.challenge) }
  assert.equal(
    reasonOf(await h.api('POST', '/devices', { token, body: planted })),
    'key_approval_required',
  )
  const approval = approvalRequest(phone, body, h.now(), { origin: PUBLIC_ORIGIN })
  assert.equal(
    reasonOf(await h.api('POST', '/devices', { token, body: { ...planted, approval } })),
    'assertion_invalid',
  )

  // Beside or in place of what the phone signed.
  const session = await createFor(s)
  await claimWith(s, phone, session)
  const view = await h.view(phone, session)
  const { verified_evidence } = (await h.evidence(phone, view)).body
  const unsigned = attestation(phone, view, verified_evidence, h.now())
  const own = await newBrowserKey(h)
  const other = attestation(phone, view, verified_evidence, h.now(), { browserKey: own.browserKey })
  for (const signed of [unsigned, other]) {
    const sent = { ...signed, browser_key: evil.browserKey }
    assert.equal(
      reasonOf(await h.api('POST', '/attestations', { token, body: sent })),
      'assertion_invalid',
    )
  }
  assert.equal((await browserKeyOf(h, phone)).rp_id, RP_ID)
  assert.equal((await h.attest(phone, view)).body.state, 'step_up_required')
  assert.equal(reasonOf(await prove(s, session, evil.authenticator)), 'browser_proof_invalid')
  assert.equal((await prove(s, session, authenticator)).body.state, 'bonded')
})

test('an approval of a further phone covers the browser key of that phone', async () => {
  const s = await setUp(shared)
  const { h } = s
  const phone = await h.register()
  h.clock.advance(1_000)
  await addPhone(s, phone, createAuthenticator({ origin: PUBLIC_ORIGIN }))
  const keys = await keysOf(h, phone)
  assert.deepEqual(
    keys.map((key: { browser_key: object | null }) => key.browser_key !== null),
    [false, true],
  )
})

test('a browser key can neither recover a device nor approve, claim or remove', async () => {
  const s = await setUp(shared)
  const { h } = s
  const { phone, authenticator } = await appPhone(s)
  const key = newPasskey(PUBLIC_ORIGIN).key
  const asKey: TestPhone = {
    ...phone,
    key_id: authenticator.credentialId,
    attested: { ...key, assert: (payload) => authenticator.assert(payload) },
  }
  const recovery = recoveryRequest(asKey, await challengeOf(h), { origin: PUBLIC_ORIGIN })
  assert.equal(
    reasonOf(await h.api('POST', '/devices/recovery', { body: recovery })),
    'assertion_invalid',
  )
  assert.equal(reasonOf(await h.removeKey(asKey)), 'assertion_invalid')
  const session = await createFor(s, 'free')
  const view = await h.view(phone, session)
  const { verified_evidence } = (await h.evidence(phone, view)).body
  const forged = attestation(asKey, view, verified_evidence, h.now())
  assert.equal(
    reasonOf(await h.api('POST', '/attestations', { token: phone.device_token, body: forged })),
    'assertion_invalid',
  )
})

test('the browser key of another phone of the user proves nothing', async () => {
  const s = await setUp(shared)
  const { phone, session } = await appPhone(s)
  const second = createAuthenticator({ origin: PUBLIC_ORIGIN })
  await addPhone(s, phone, second)
  assert.equal(reasonOf(await prove(s, session, second)), 'browser_proof_invalid')
  assert.ok((await notesOf(s, session)).includes('browser_proof_invalid credential'))
  assert.equal(await stateOf(s, session), 'step_up_required')
})

test('takes no id of another key, so no phone can pass its key off as that of another one', async () => {
  const s = await setUp(shared)
  const { h } = s
  const victim = await appPhone(s)
  const passkey = newPasskey(PUBLIC_ORIGIN)
  const page = await h.register(undefined, passkey.key)
  for (const authenticator of [victim.authenticator, passkey.authenticator]) {
    const attacker = await h.register()
    const session = await createFor(s)
    const challenge = await challengeOf(h)
    const registration = authenticator.register(challenge)
    const reply = await approveWith(s, attacker, session, { challenge, registration })
    assert.equal(reasonOf(reply), 'key_already_registered', reply.text)
    assert.equal(await stateOf(s, session), 'pending')
    assert.equal(await browserKeyOf(h, attacker), null)
  }
  assert.equal(await browserKeyOf(h, page), null)
  // A phone may send its own browser key again.
  const again = await createFor(s)
  const challenge = await challengeOf(h)
  const registration = victim.authenticator.register(challenge)
  const reply = await approveWith(s, victim.phone, again, { challenge, registration })
  assert.equal(reply.body.state, 'step_up_required', reply.text)
})

test('uses the challenge of a browser key up, and undoes the approval of a second one', async () => {
  const s = await setUp(shared)
  const { h } = s
  const { browserKey } = await appPhone(s)
  const thief = await h.register()
  const session = await createFor(s)
  const reply = await approveWith(s, thief, session, browserKey)
  assert.equal(reasonOf(reply), 'challenge_not_usable')
  assert.equal(await stateOf(s, session), 'pending')
  const stale = await newBrowserKey(h)
  h.clock.advance(300_000)
  const late = await createFor(s)
  assert.equal(
    reasonOf(await approveWith(s, thief, late, stale.browserKey)),
    'challenge_not_usable',
  )
})

test('a browser key that the phone has registered after an approval does not answer for it', async () => {
  const s = await setUp(shared)
  const { phone, session } = await appPhone(s)
  const planted = await newBrowserKey(s.h)
  const later = await createFor(s)
  const approved = await approveWith(s, phone, later, planted.browserKey)
  assert.equal(approved.body.state, 'step_up_required', approved.text)
  assert.equal(reasonOf(await prove(s, session, planted.authenticator)), 'browser_proof_invalid')
  assert.equal(await stateOf(s, session), 'step_up_required')
  assert.equal((await prove(s, later, planted.authenticator)).body.state, 'bonded')
})

test('a repeated approval returns the session, although its challenge is used up', async () => {
  const s = await setUp(shared)
  const { h } = s
  const phone = await h.register()
  const { browserKey } = await newBrowserKey(h)
  const session = await createFor(s)
  await claimWith(s, phone, session)
  const view = await h.view(phone, session)
  const { verified_evidence } = (await h.evidence(phone, view)).body
  const body = attestation(phone, view, verified_evidence, h.now(), { browserKey })
  for (let times = 0; times < 3; times += 1) {
    const reply = await h.api('POST', '/attestations', { token: phone.device_token, body })
    assert.equal(reply.body.state, 'step_up_required', reply.text)
  }
})

test('accepts the origins of the page and of an iOS app, no other, and no attestation', async () => {
  const s = await setUp(shared)
  const { h } = s
  const rejected: readonly Partial<AuthenticatorOptions>[] = [
    { origin: 'https://evil.example' },
    { origin: SHOP_ORIGIN },
    { origin: 'android:apk-key-hash:AAAA' },
    { rpId: 'evil.example' },
    { flags: 1 },
    { attestation: () => ['android-key', new Map()] },
  ]
  for (const options of rejected) {
    const phone = await h.register()
    const session = await createFor(s)
    const { browserKey } = await newBrowserKey(h, options)
    const reply = await approveWith(s, phone, session, browserKey)
    assert.equal(reasonOf(reply), 'browser_key_invalid', JSON.stringify(options))
    assert.equal(await stateOf(s, session), 'pending')
    assert.equal(await browserKeyOf(h, phone), null)
  }
  for (const options of [{ origin: `https://${RP_ID}` }, { attestation: selfAttestation }]) {
    const { browserKey } = await newBrowserKey(h, options)
    const session = await createFor(s)
    const reply = await approveWith(s, await h.register(), session, browserKey)
    assert.equal(reply.body.state, 'step_up_required', reply.text)
  }
})

test('the counter of a browser key must increase, and makes no phone suspect', async () => {
  const s = await setUp(shared)
  const { h } = s
  const { phone, authenticator, session } = await appPhone(s)
  assert.equal((await prove(s, session, authenticator, { counter: 7 })).body.state, 'bonded')
  const next = await createFor(s)
  await h.claim(phone, next)
  await h.attest(phone, await h.view(phone, next))
  assert.equal(
    reasonOf(await prove(s, next, authenticator, { counter: 7 })),
    'browser_proof_invalid',
  )
  assert.ok((await notesOf(s, next)).includes('browser_proof_invalid counter'))
  const [key] = await keysOf(h, phone)
  assert.equal(key.status, 'active')
  assert.equal((await prove(s, next, authenticator, { counter: 8 })).body.state, 'bonded')
})

test('a phone removes its browser key and stays, and a proof in progress fails', async () => {
  const s = await setUp(shared)
  const { h } = s
  const { phone, authenticator, session } = await appPhone(s)
  // The removal of the browser key is not that of the phone, nor the reverse.
  const { origin, token } = { origin: PUBLIC_ORIGIN, token: phone.device_token }
  const path = `/devices/${phone.device_id}/removal`
  const whole = removalRequest(phone, phone.device_id, h.now(), { origin })
  const ofBrowser = removalRequest(phone, phone.device_id, h.now(), { origin, purpose: 'browser' })
  const { purpose: _purpose, ...asWhole } = ofBrowser
  for (const body of [{ ...whole, purpose: 'browser' }, asWhole])
    assert.equal(reasonOf(await h.api('POST', path, { token, body })), 'assertion_invalid')
  const removed = await h.removeKey(phone, phone, { purpose: 'browser' })
  assert.equal(removed.status, 204, removed.text)
  assert.equal(await browserKeyOf(h, phone), null)
  assert.equal(reasonOf(await prove(s, session, authenticator)), 'browser_proof_invalid')
  assert.ok((await notesOf(s, session)).includes('device_browser_key_removed phone'))
  assert.equal(
    reasonOf(await h.removeKey(phone, phone, { purpose: 'browser' })),
    'device_not_found',
  )
  const next = await createFor(s)
  assert.equal(reasonOf(await h.claim(phone, next)), 'key_format_not_accepted')
})

test('a page with an attested passkey can answer by a second, discoverable one', async () => {
  const s = await setUp(shared)
  const { h } = s
  const passkey = newPasskey(PUBLIC_ORIGIN)
  const second = createAuthenticator({ origin: PUBLIC_ORIGIN })
  const phone = await h.register(undefined, {
    ...passkey.key,
    register: (challenge) => ({
      ...passkey.key.register(challenge),
      browser_key: second.register(challenge),
    }),
  })
  for (const authenticator of [passkey.authenticator, second]) {
    const session = await createFor(s)
    await h.claim(phone, session)
    await h.attest(phone, await h.view(phone, session))
    const page = await h.api('GET', `/sessions/${session.id}`, {
      token: s.shop.publishable,
      headers: { origin: SHOP_ORIGIN, 'x-bond-watch': session.watch_token },
    })
    const { allow_credentials, credential_hashes } = page.body.browser
    assert.deepEqual([allow_credentials, credential_hashes.length], [[], 2])
    assert.equal((await prove(s, session, authenticator)).body.state, 'bonded')
  }
})

test('the service knows the relying party id of a browser key until its phone is removed', async () => {
  await using alone = await serviceForBrowserKeys()
  const s = await setUp(alone)
  const { phone } = await appPhone(s)
  const options = { rpId: 'x', formerRpIds: undefined }
  assert.deepEqual(await checkRpIds(s.h.service, options), [RP_ID])
  await s.h.removeKey(phone)
  assert.deepEqual(await checkRpIds(s.h.service, options), [])
})

test('the browser key of a sandbox phone serves no production tenant', async () => {
  const s = await setUp(shared)
  const { h } = s
  const { phone } = await appPhone(s)
  const live = await h.addTenant({ workflows: WORKFLOWS, environment: 'production' })
  const session = await h.create({ workflow: 'bound', action: 'act' }, live)
  assert.equal(reasonOf(await h.claim(phone, session)), 'device_not_usable')
})

test('a phone with an attested passkey needs a second, discoverable one', async () => {
  const s = await setUp(shared)
  const { h } = s
  const phone = await h.register(undefined, webauthnKey())
  const session = await createFor(s)
  assert.equal(reasonOf(await h.claim(phone, session)), 'key_format_not_accepted')
  const { authenticator, browserKey } = await newBrowserKey(h)
  const approved = await approveWith(s, phone, session, browserKey)
  assert.equal(approved.body.state, 'step_up_required', approved.text)
  assert.equal((await prove(s, session, authenticator)).body.state, 'bonded')
})
