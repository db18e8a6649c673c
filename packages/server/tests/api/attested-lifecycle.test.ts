import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import type { CreatedSession, TimelineEntry, VerifiedEvidence } from '@bonded/contract'
import {
  androidKey,
  appleKey,
  EMPTY_REVOCATION_LIST,
  withProductionRoots,
  asTestRoots,
  ATTESTED_KEYS,
  webauthnKey,
} from '../../../../tests/harness/attested-phones.ts'
import { type Harness, harness } from '../../../../tests/harness/harness.ts'
import { attestation, carriedSignals, type TestPhone } from '../../../../tests/harness/phone.ts'

const stepsOf = async (h: Harness, session: { id: string }): Promise<(string | null)[]> =>
  (await h.api('GET', `/sessions/${session.id}/timeline`, { token: h.shop.server })).body.entries
    .filter(({ kind }: TimelineEntry) => kind === 'refused')
    .map(({ step }: TimelineEntry) => step)
const weak = (h: Harness) => ({
  ...carriedSignals(h.clock.now()),
  local_auth: { result: 'failed' as const, method: 'none' as const, verified_at: h.now() },
  sensor_continuity: { window_ms: 1_000, features: [] },
})

for (const [format, makeKey] of ATTESTED_KEYS) {
  test(`${format}: a phone registers, bonds a session of a production tenant, and the session completes`, async () => {
    await using h = await harness({ attestation: withProductionRoots, environment: 'production' })
    const phone = await h.register(undefined, makeKey())
    const record = (
      await h.api('GET', `/devices/${phone.device_id}`, { token: phone.device_token })
    ).body
    assert.deepEqual(
      [record.format, record.environment, record.status],
      [format, 'production', 'active'],
    )
    const session = await h.create()
    const view = (await h.claim(phone, session)).body
    const bonded = await h.attest(phone, view)
    assert.equal(bonded.status, 200, bonded.text)
    assert.equal(bonded.body.state, 'bonded')
    const { verification } = (await h.get(session)).body
    assert.equal(verification.local_auth, 'verified')
    assert.notEqual(verification.assertion_band, 'low')
    assert.equal((await h.complete(session)).status, 200)
    assert.equal((await h.get(session)).body.state, 'completed')
    const path = `/sessions/${session.id}/timeline`
    const { entries } = (await h.api('GET', path, { token: h.shop.server })).body
    // An attested key needs no outcome to be accepted.
    assert.ok(!entries.some(({ kind }: TimelineEntry) => kind === 'note'))
  })

  test(`${format}: ends the session at the third valid assertion that misses the policy, and bonds a sufficient one before`, async () => {
    await using h = await harness({ attestation: asTestRoots })
    const phone = await h.register(undefined, makeKey())
    for (const [misses, end] of [
      [2, 'bonded'],
      [3, 'killed'],
    ] as const) {
      const session = await h.create({ workflow: 'strict' })
      await h.claim(phone, session)
      for (let miss = 1; miss <= misses; miss++) {
        const missed = await h.attest(phone, await h.view(phone, session), { signals: weak(h) })
        if (miss === 3) assert.equal(missed.body.error.reason, 'policy_not_met')
        else
          assert.deepEqual(
            [missed.body.state, missed.body.step_up.attempts_left],
            ['step_up_required', 3 - miss],
            missed.text,
          )
      }
      if (end === 'bonded') await h.attest(phone, await h.view(phone, session))
      const { state, ended_reason } = (await h.get(session)).body
      assert.deepEqual([state, ended_reason], [end, end === 'killed' ? 'policy_not_met' : null])
    }
  })

  test(`${format}: the fifth assertion of the pinned phone that does not verify ends the session`, async () => {
    await using h = await harness({ attestation: asTestRoots })
    const phone = await h.register(undefined, makeKey())
    const session = await h.create()
    const view = (await h.claim(phone, session)).body
    for (let failure = 1; failure <= 5; failure++) {
      const rejected = await h.attest(phone, view, { tampering: { privateKey: phone.privateKey } })
      assert.equal(rejected.body.error.reason, 'assertion_invalid', rejected.text)
      assert.equal((await h.get(session)).body.state, failure < 5 ? 'pending' : 'killed')
    }
    assert.equal((await h.get(session)).body.ended_reason, 'too_many_attempts')
    assert.deepEqual(await stepsOf(h, session), Array(5).fill('signature'))
  })

  test(`${format}: a production tenant rejects every call of a phone under a test root`, async () => {
    await using h = await harness({ attestation: asTestRoots, environment: 'production' })
    const phone = await h.register(undefined, makeKey())
    assert.equal(
      (await h.api('GET', `/devices/${phone.device_id}`, { token: phone.device_token })).body
        .environment,
      'sandbox',
    )
    await assertUseless(h, phone, 'device_environment')
  })

  test(`${format}: rejects the registration of a phone with an untrusted root`, async () => {
    await using h = await harness({ attestation: asTestRoots })
    const { challenge } = (await h.api('POST', '/devices/challenges')).body
    const other = makeKey().register(Buffer.alloc(32, 1).toString('base64url'))
    const forAnother = await h.api('POST', '/devices', { body: { format, challenge, ...other } })
    assert.equal(forAnother.body.error.reason, 'attestation_invalid', forAnother.text)
    await using strict = await harness()
    const reply = await strict
      .register(undefined, makeKey())
      .catch((failure: Error) => failure.message)
    assert.match(
      String(reply),
      format === 'webauthn' ? /attestation_invalid/ : /format_not_enabled/,
    )
  })
}

/**
 * Every call of the phone on a new session is rejected in the one way, and the tenant's timeline
 * says why.
 */
async function assertUseless(
  h: Harness,
  phone: TestPhone,
  step: string,
  reason = 'device_not_usable',
): Promise<void> {
  const session = await h.create()
  const seen = {
    ...session,
    tenant_name: '',
    requesting_origin: null,
    created_at: session.server_time,
  }
  const bond = attestation(phone, seen, signedEvidence(h, phone, session), h.now())
  const rejections = [
    await h.claim(phone, session),
    await h.evidence(phone, seen),
    await h.api('POST', '/attestations', { token: phone.device_token, body: bond }),
    await h.decline(phone, session),
  ]
  for (const reply of rejections) assert.equal(reply.body.error.reason, reason, reply.text)
  assert.equal(
    (
      await h.api('GET', `/sessions/${session.id}?nonce=${session.nonce}`, {
        token: phone.device_token,
      })
    ).status,
    404,
  )
  assert.equal((await h.get(session)).body.state, 'pending')
  assert.ok((await stepsOf(h, session)).every((recorded) => recorded === step))
}

/** A summary as good as the service's own, so that only the device itself can prevent the bond. */
function signedEvidence(
  h: Harness,
  phone: TestPhone,
  { id, nonce, tenant_id }: CreatedSession,
): VerifiedEvidence {
  const { keys } = h.service
  const kid = keys.currentKeyId
  const [from, until] = [h.now(), new Date(h.clock.now() + 120_000).toISOString()]
  const unsigned = {
    issued_at: from,
    expires_at: until,
    kid,
    local_auth: { result: 'verified' as const, method: 'biometric' as const, verified_at: from },
    carrier: {
      number_verified: false,
      sim_swap_recent: false,
      device_status: 'unknown' as const,
      checked_at: from,
      source: 'none',
    },
    sensor_continuity: {
      motion_present: true,
      continuity_score: 0.9,
      window_ms: 60_000,
      samples: 60,
      model: 'v1',
    },
  }
  const context = {
    session_id: id,
    nonce,
    device_id: phone.device_id,
    subject_id: phone.subject_id,
    tenant_id,
  }
  return { ...unsigned, signature: keys.evidenceMac(kid, context, unsigned) ?? '' }
}

test('accepts evidence that this test signs like the service’s own', async () => {
  await using h = await harness({ attestation: withProductionRoots, environment: 'production' })
  const phone = await h.register(undefined, webauthnKey())
  const session = await h.create()
  const view = (await h.claim(phone, session)).body
  const body = attestation(phone, view, signedEvidence(h, phone, session), h.now())
  assert.equal(
    (await h.api('POST', '/attestations', { token: phone.device_token, body })).body.state,
    'bonded',
  )
})

test('asks the phone to retry while the Android revocation list is unknown, and keeps its challenge valid', async () => {
  let google = false
  const fetch: typeof EMPTY_REVOCATION_LIST = (...requested) =>
    google ? EMPTY_REVOCATION_LIST(...requested) : Promise.reject(new Error('no way to Google'))
  await using h = await harness({ attestation: (clock) => withProductionRoots(clock, fetch) })
  const { challenge } = (await h.api('POST', '/devices/challenges')).body
  const body = { format: 'android-key', challenge, ...androidKey().register(challenge) }
  const rejected = await h.api('POST', '/devices', { body })
  assert.deepEqual(
    [rejected.status, rejected.body.error.reason, rejected.headers['retry-after']],
    [503, 'overloaded', '1'],
  )
  google = true
  h.clock.advance(30_000)
  assert.equal((await h.api('POST', '/devices', { body })).status, 201)
})

test('an App Attest key of the development environment is a sandbox key, also under the real root', async () => {
  await using h = await harness({ attestation: withProductionRoots, environment: 'production' })
  await assertUseless(h, await h.register(undefined, appleKey('development')), 'device_environment')
})

test('rejects a script with a self-made passkey in a workflow that needs attested keys', async () => {
  await using h = await harness({
    attestation: withProductionRoots,
    environment: 'production',
    workflows: [{ name: 'credit_application', actions: ['act'], webauthn: 'attested' }],
  })
  const script = await h.register(undefined, webauthnKey('script'))
  assert.equal(
    (await h.api('GET', `/devices/${script.device_id}`, { token: script.device_token })).body
      .environment,
    'production',
  )
  await assertUseless(h, script, 'webauthn_unattested', 'key_not_attested')
})

test('accepts only the formats that a workflow names', async () => {
  const workflows = [{ name: 'apple', actions: ['act'], formats: ['apple-app-attest' as const] }]
  await using h = await harness({ attestation: asTestRoots, workflows })
  const session = await h.create({})
  const android = await h.claim(await h.register(undefined, androidKey()), session)
  assert.equal(android.body.error.reason, 'key_format_not_accepted')
  assert.equal((await h.claim(await h.register(undefined, appleKey()), session)).status, 200)
})

test('gives a tenant one pseudonym for a subject with keys of several formats', async () => {
  await using h = await harness({ attestation: asTestRoots })
  const first = await h.register(undefined, appleKey())
  const phones = [
    first,
    await h.register(first, androidKey()),
    await h.register(first, webauthnKey()),
  ]
  const names = new Set<string>()
  for (const phone of phones) {
    assert.equal(phone.subject_id, first.subject_id)
    // An added phone serves sessions that name the user.
    const [subject_ref = null] = names
    const session = await h.create({ workflow: 'credit_application', subject_ref })
    await h.attest(phone, (await h.claim(phone, session)).body)
    names.add((await h.get(session)).body.subject_ref)
  }
  assert.equal(names.size, 1)
})

test('stores the proven facts with the key, and the receipt until the key is removed', async () => {
  await using h = await harness({ attestation: withProductionRoots, environment: 'production' })
  const phone = await h.register(undefined, appleKey())
  const browser = await h.register(undefined, webauthnKey())
  const stored = await h.service.store.read(function* (tables) {
    return [
      yield* tables.devices.find(phone.device_id as never),
      yield* tables.devices.find(browser.device_id as never),
    ]
  })
  assert.deepEqual(stored[0]?.build, { category: 4, bundleVersion: '7.1' })
  assert.equal(stored[0]?.appId, 'TEAM123456.example.bank')
  assert.deepEqual(stored[1]?.webauthn, { attested: true, backupEligible: false })
  const receipts = () => {
    using database = new DatabaseSync(h.databaseFile, { readOnly: true })
    return database.prepare('select device_id, finding, receipt from device_receipt').all()
  }
  assert.deepEqual(receipts(), [
    {
      __proto__: null,
      device_id: phone.device_id,
      finding: '{"verified":false,"step":"structure"}',
      receipt: null,
    },
  ])
  assert.equal((await h.removeKey(phone)).status, 204)
  assert.deepEqual(receipts(), [])
})
