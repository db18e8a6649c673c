import assert from 'node:assert/strict'
import { createPublicKey, sign } from 'node:crypto'
import { test } from 'node:test'
import { type AppAttest, decodeBase64url } from '@bonded/contract'
import {
  type AuthenticatorOptions,
  createAuthenticator,
  createAuthenticatorMaker,
  der,
  encodeApplicationId,
  encodeRootOfTrust,
  itself,
  nobody,
  SIMULATED_APP,
  WEBAUTHN_FLAGS,
} from '@bonded/simulator'
import { verifyAuthenticationResponse } from '@simplewebauthn/server'
import { makeRegistrars } from '../src/adapters/proofs/registration/registrars.ts'
import { NO_APPS } from '../src/adapters/proofs/trusted-phones.ts'
import { webauthnVerifier } from '../src/adapters/proofs/webauthn/assertion.ts'
import { webauthnRegistrar } from '../src/adapters/proofs/webauthn/registrar.ts'
import { appleWebauthnRoots, BROWSER_KEY_KEEPERS } from '../src/adapters/proofs/webauthn/trust.ts'
import { readCertificate } from '../src/adapters/proofs/x509/certificate.ts'
import { acceptsKey } from '../src/domain/phone-rules.ts'
import { policyOf } from '../src/domain/policy.ts'
import type { Device } from '../src/domain/session.ts'
import { clockAt, NOBODY_REVOKED, trustAt, wordOf } from './android-trust.ts'
import { fuzz, FUZZ_TIMEOUT_MS as timeout } from './harness/fuzz.ts'
import { flipped } from './harness/seeded.ts'
import {
  AAGUID,
  android,
  apple,
  CHALLENGE,
  MAKER,
  NOW,
  ORIGIN,
  register,
  trustOf,
  withMembers,
} from './webauthn-makers.ts'

const { octets } = der
const { userPresent, userVerified, backupEligible, backedUp } = WEBAUTHN_FLAGS
const stranger = createAuthenticatorMaker(AAGUID)

const REGISTRATIONS: readonly (readonly [
  what: string,
  options: Partial<AuthenticatorOptions>,
  verdict: string,
])[] = [
  ['a maker’s authenticator', { attestation: MAKER.attestation }, 'production attested'],
  [
    'a maker’s authenticator whose keys can be copied',
    { attestation: MAKER.attestation, flags: userPresent | userVerified | backupEligible },
    'production unattested',
  ],
  ['an authenticator of an unknown maker', { attestation: stranger.attestation }, 'root'],
  [
    'an authenticator of another model',
    { attestation: MAKER.attestation, aaguid: Buffer.alloc(16, 8) },
    'statement_aaguid',
  ],
  ['nobody', { attestation: nobody }, 'production unattested'],
  [
    'nobody, with something to say',
    { attestation: withMembers(nobody, (members) => members.set('x', 1)) },
    'statement',
  ],
  ['the key itself', { attestation: itself }, 'production unattested'],
  [
    'a key that signs another algorithm’s name',
    { attestation: withMembers(itself, (members) => members.set('alg', -257)) },
    'statement',
  ],
  [
    'a key that signs something else',
    { attestation: (about) => itself({ ...about, clientDataHash: Buffer.alloc(32) }) },
    'statement_signature',
  ],
  [
    'a maker that signs something else',
    { attestation: (about) => MAKER.attestation({ ...about, clientDataHash: Buffer.alloc(32) }) },
    'statement_signature',
  ],
  [
    'a maker without certificates',
    { attestation: withMembers(MAKER.attestation, (members) => members.set('x5c', [])) },
    'chain_length',
  ],
  [
    'a maker with the root as well',
    {
      attestation: withMembers(MAKER.attestation, (members) =>
        (members.get('x5c') as Buffer[]).push(MAKER.root),
      ),
    },
    'production attested',
  ],
  [
    'a maker with another’s root',
    {
      attestation: withMembers(MAKER.attestation, (members) =>
        (members.get('x5c') as Buffer[]).push(stranger.root),
      ),
    },
    'issuer_name_or_signature',
  ],
  ['a format nobody knows', { attestation: () => ['compound', new Map()] }, 'statement_format'],
  ['Android hardware', { attestation: android() }, 'production attested'],
  [
    'Android hardware of an unlocked phone',
    { attestation: android({ 704: encodeRootOfTrust({ locked: false, state: 2 }) }) },
    'sandbox attested',
  ],
  [
    'Android hardware that signs something else',
    {
      attestation: (about) =>
        withMembers(android(), (members) =>
          members.set('sig', sign('sha256', Buffer.of(1), about.privateKey)),
        )(about),
    },
    'statement_signature',
  ],
  [
    'Android hardware for another challenge',
    { attestation: (about) => android()({ ...about, clientDataHash: Buffer.alloc(32) }) },
    'challenge',
  ],
  [
    'Android hardware for another key',
    {
      attestation: (about) =>
        android()({ ...about, privateKey: createAuthenticator({ origin: ORIGIN }).privateKey }),
    },
    'statement_key',
  ],
  ['an iPhone', { attestation: apple }, 'production attested'],
  [
    'an iPhone that names its algorithm',
    { attestation: withMembers(apple, (members) => members.set('alg', -7)) },
    'production attested',
  ],
  [
    'an iPhone with another algorithm',
    { attestation: withMembers(apple, (members) => members.set('alg', -257)) },
    'statement',
  ],
  [
    'an iPhone with something else to say',
    { attestation: withMembers(apple, (members) => members.set('sig', Buffer.of(1))) },
    'statement',
  ],
  [
    'an iPhone for another challenge',
    { attestation: (about) => apple({ ...about, clientDataHash: Buffer.alloc(32) }) },
    'statement_nonce',
  ],
  [
    'an iPhone for another key',
    {
      attestation: (about) =>
        apple({ ...about, privateKey: createAuthenticator({ origin: ORIGIN }).privateKey }),
    },
    'statement_key',
  ],
  ['a person who was not verified', { flags: userPresent }, 'user_verified'],
  ['a person who was not there', { flags: userVerified }, 'user_present'],
  [
    'a copied key that cannot be copied',
    { flags: userPresent | userVerified | backedUp },
    'backup_flags',
  ],
  [
    'a page of another origin',
    { origin: 'https://bond.example.com.evil.example' },
    'client_data_origin',
  ],
]

for (const [what, options, verdict] of REGISTRATIONS) {
  test(`webauthn: ${what} vouches: ${verdict}`, async () => {
    const registered = await register(options)
    if (verdict === 'issuer_name_or_signature') return assert.ok(!registered.ok)
    const shown = registered.ok
      ? `${registered.value.environment} ${registered.value.webauthn?.attested === true ? '' : 'un'}attested`
      : wordOf(registered)
    assert.equal(shown, verdict)
  })
}

test('webauthn: an authenticator under a test root is attested, and a sandbox device', async () => {
  const registered = await register({ attestation: MAKER.attestation }, trustOf('sandbox'))
  assert.ok(registered.ok)
  assert.deepEqual(
    [registered.value.environment, registered.value.webauthn?.attested],
    ['sandbox', true],
  )
})

test('webauthn: a certificate of a trusted maker that is not for authenticators attests nothing', async () => {
  const model = [
    ['country', 'AA'],
    ['organization', 'x'],
    ['unit', 'Authenticator Attestation'],
    ['commonName', 'x'],
  ] as const
  const verdictOf = async (subject: readonly (typeof model)[number][]) => {
    const maker = createAuthenticatorMaker(AAGUID, { subject })
    const certificate = readCertificate(maker.root)
    assert.ok(certificate)
    return wordOf(
      await register(
        { attestation: maker.attestation },
        { ...trustOf(), packed: [{ certificate, environment: 'production' }] },
      ),
    )
  }
  assert.equal(await verdictOf(model), 'ok')
  for (const [name] of model)
    assert.equal(
      await verdictOf(model.filter(([other]) => other !== name)),
      'statement_certificate',
    )
})

test('webauthn: where no root is configured nobody attests', async () => {
  assert.equal(
    wordOf(await register({ attestation: MAKER.attestation }, { ...trustOf(), packed: [] })),
    'root',
  )
  assert.equal(
    wordOf(await register({ attestation: android() }, { ...trustOf(), android: trustAt(NOW) })),
    'root',
  )
  assert.equal(
    wordOf(await register({ attestation: apple }, { ...trustOf(), apple: appleWebauthnRoots() })),
    'root',
  )
  assert.equal(appleWebauthnRoots().length, 1)
})

test('webauthn: hardware vouches for what keeps a browser’s keys, and for no other app, though it be the operator’s own', async () => {
  const phones = { ...NO_APPS, android: trustOf().android.policy }
  const registrars = makeRegistrars(
    { phones, origin: ORIGIN },
    { clock: clockAt(NOW), revocations: NOBODY_REVOKED },
  )
  const keptBy = async (packages: readonly string[], digest: Uint8Array) => {
    const attestation = android({}, { 709: octets(encodeApplicationId(packages, [digest])) })
    const registration = createAuthenticator({ origin: ORIGIN, attestation }).register(CHALLENGE)
    return wordOf(await registrars.webauthn.register({ challenge: CHALLENGE, registration }))
  }
  const google = Buffer.from(BROWSER_KEY_KEEPERS[0]?.certificateDigests[0] ?? '', 'hex')
  assert.equal(await keptBy(['com.google.android.gms', 'com.google.android.gsf'], google), 'ok')
  // It could say anything of the page and the person.
  assert.equal(
    await keptBy([SIMULATED_APP.package], SIMULATED_APP.certificateDigest),
    'application_id',
  )
})

test('webauthn: client data of another type, challenge, or frame registers nothing', async () => {
  const registrar = webauthnRegistrar({ origin: ORIGIN, trust: trustOf(), clock: clockAt(NOW) })
  const honest = createAuthenticator({ origin: ORIGIN }).register(CHALLENGE)
  const sent = JSON.parse(Buffer.from(honest.response.clientDataJSON, 'base64url').toString())
  const verdict = async (text: string | Buffer) => {
    const response = {
      ...honest.response,
      clientDataJSON: Buffer.from(text as string).toString('base64url'),
    }
    return wordOf(
      await registrar.register({ challenge: CHALLENGE, registration: { ...honest, response } }),
    )
  }
  assert.equal(await verdict(JSON.stringify({ ...sent, another: ['member'] })), 'ok')
  assert.equal(await verdict(JSON.stringify({ ...sent, type: 'webauthn.get' })), 'client_data_type')
  assert.equal(
    await verdict(JSON.stringify({ ...sent, challenge: `${CHALLENGE}=` })),
    'client_data_challenge',
  )
  assert.equal(
    await verdict(JSON.stringify({ ...sent, origin: `${ORIGIN}/` })),
    'client_data_origin',
  )
  assert.equal(
    await verdict(JSON.stringify({ ...sent, crossOrigin: true })),
    'client_data_cross_origin',
  )
  assert.equal(
    await verdict(JSON.stringify({ ...sent, topOrigin: ORIGIN })),
    'client_data_cross_origin',
  )
  assert.equal(
    await verdict(`{"type":"webauthn.get",${JSON.stringify(sent).slice(1)}`),
    'client_data',
  )
  assert.equal(
    await verdict(Buffer.concat([Buffer.from(JSON.stringify(sent)), Buffer.of(0xff)])),
    'client_data',
  )
  assert.equal(await verdict('null'), 'client_data')
  assert.equal(
    wordOf(
      await registrar.register({ challenge: CHALLENGE, registration: { ...honest, id: 'AAAA' } }),
    ),
    'credential_id',
  )
})

test('webauthn: a script that sets UV and BE by hand bonds on no production tenant, unless the workflow says so', async () => {
  const script = await register({
    attestation: nobody,
    flags: userPresent | userVerified | backupEligible,
  })
  const chip = await register({ attestation: MAKER.attestation })
  assert.ok(script.ok && chip.ok)
  const workflow = { name: 'wire', actions: ['approve'] } as unknown as Parameters<
    typeof policyOf
  >[0]
  const accepts = (
    registered: typeof script,
    webauthn: 'attested' | 'known' | 'any' | undefined,
    environment: 'sandbox' | 'production',
    subject: string | null,
  ) => {
    assert.ok(registered.ok)
    const policy = policyOf(
      { ...workflow, ...(webauthn === undefined ? {} : { webauthn }) },
      environment,
    )
    return acceptsKey(
      { policy, wantedSubjectRef: subject },
      { format: 'webauthn', webauthn: registered.value.webauthn },
    )
  }
  // The default of a production tenant, also where the session names its customer.
  assert.equal(accepts(script, undefined, 'production', null), false)
  assert.equal(accepts(script, undefined, 'production', 'customer'), false)
  assert.equal(accepts(chip, undefined, 'production', null), true)
  assert.equal(accepts(script, 'known', 'production', null), false)
  assert.equal(accepts(script, 'known', 'production', 'customer'), true)
  assert.equal(accepts(script, 'any', 'production', null), true)
  assert.equal(accepts(script, undefined, 'sandbox', null), true)
  // What is not known of a key is not attested; other formats have their own rules.
  const attested = policyOf(workflow, 'production')
  assert.equal(
    acceptsKey({ policy: attested, wantedSubjectRef: null }, { format: 'webauthn' }),
    false,
  )
  assert.equal(
    acceptsKey({ policy: attested, wantedSubjectRef: null }, { format: 'android-key' }),
    true,
  )
})

async function bondedPhone(options: Partial<AuthenticatorOptions> = {}) {
  const authenticator = createAuthenticator({ origin: ORIGIN, ...options })
  const registrar = webauthnRegistrar({ origin: ORIGIN, trust: trustOf(), clock: clockAt(NOW) })
  const registered = await registrar.register({
    challenge: CHALLENGE,
    registration: authenticator.register(CHALLENGE),
  })
  assert.ok(registered.ok)
  const device = { ...registered.value, format: 'webauthn' } as unknown as Device
  const verifier = webauthnVerifier({ origin: ORIGIN })
  return {
    authenticator,
    device,
    verify: (appAttest: AppAttest, payload = 'payload') =>
      verifier.verify({ device, payload, appAttest }),
  }
}

test('webauthn: an assertion over the payload verifies, here as in the library', async () => {
  const { authenticator, device, verify } = await bondedPhone()
  const appAttest = authenticator.assert('payload')
  const verified = verify(appAttest)
  assert.ok(verified.ok)
  assert.deepEqual(verified.value, { counter: 1, userVerified: true })
  const { x = '', y = '' } = createPublicKey({
    key: Buffer.from(device.publicKey),
    format: 'der',
    type: 'spki',
  }).export({ format: 'jwk' })
  const cose = Buffer.concat([
    Buffer.from('a5010203262001215820', 'hex'),
    Buffer.from(x, 'base64url'),
    Buffer.from('225820', 'hex'),
    Buffer.from(y, 'base64url'),
  ])
  const byLibrary = await verifyAuthenticationResponse({
    response: {
      id: device.keyId,
      rawId: device.keyId,
      type: 'public-key',
      clientExtensionResults: {},
      response: {
        clientDataJSON: appAttest.client_data_json,
        authenticatorData: appAttest.authenticator_data,
        signature: appAttest.signature,
      },
    },
    expectedChallenge: JSON.parse(Buffer.from(appAttest.client_data_json, 'base64url').toString())
      .challenge,
    expectedOrigin: ORIGIN,
    expectedRPID: 'bond.example.com',
    credential: { id: device.keyId, publicKey: cose, counter: 0 },
  })
  assert.ok(byLibrary.verified)
})

test('webauthn: an assertion for another payload, page, person or key is refused, each by its step', async () => {
  const { authenticator, verify } = await bondedPhone()
  const { client_data_json: _none, ...withoutClientData } = authenticator.assert('payload')
  const verdicts: readonly (readonly [AppAttest, string])[] = [
    [authenticator.assert('another'), 'client_data_challenge'],
    [
      authenticator.assert('payload', { clientData: { type: 'webauthn.create' } }),
      'client_data_type',
    ],
    [
      authenticator.assert('payload', { clientData: { origin: 'https://evil.example' } }),
      'client_data_origin',
    ],
    [
      authenticator.assert('payload', { clientData: { crossOrigin: true } }),
      'client_data_cross_origin',
    ],
    [authenticator.assert('payload', { flags: userVerified }), 'user_present'],
    [authenticator.assert('payload', { flags: userPresent }), 'user_verified'],
    [
      authenticator.assert('payload', { flags: userPresent | userVerified | backedUp }),
      'backup_flags',
    ],
    [
      authenticator.assert('payload', { flags: userPresent | userVerified | backupEligible }),
      'backup_flags',
    ],
    [
      authenticator.assert('payload', { flags: userPresent | userVerified | 0x40 }),
      'authenticator_data',
    ],
    [
      authenticator.assert('payload', { flags: userPresent | userVerified | 0x80 }),
      'authenticator_data',
    ],
    [
      {
        ...createAuthenticator({ origin: ORIGIN }).assert('payload'),
        key_id: authenticator.credentialId,
      },
      'signature',
    ],
    [createAuthenticator({ origin: ORIGIN }).assert('payload'), 'key_id'],
    [
      {
        ...authenticator.assert('payload'),
        client_data_hash: Buffer.alloc(32).toString('base64url'),
      },
      'client_data_hash',
    ],
    [withoutClientData, 'client_data_hash'],
    [
      {
        ...authenticator.assert('payload'),
        signature: `${authenticator.assert('payload').signature}=`,
      },
      'encoding',
    ],
  ]
  for (const [appAttest, step] of verdicts) assert.equal(wordOf(verify(appAttest)), step)
})

test('webauthn: an assertion of another RP ID is refused', async () => {
  const { authenticator, device } = await bondedPhone()
  const verified = webauthnVerifier({ origin: ORIGIN }).verify({
    device: { ...device, appId: 'example.com' },
    payload: 'payload',
    appAttest: authenticator.assert('payload'),
  })
  assert.equal(wordOf(verified), 'app_id')
})

test('webauthn: extensions of the authenticator are one map, and nothing else may follow', async () => {
  const { authenticator, verify } = await bondedPhone()
  const withMore = (flags: number, more: string) => {
    const honest = authenticator.assert('payload', { flags })
    const data = Buffer.concat([
      decodeBase64url(honest.authenticator_data) ?? Buffer.alloc(0),
      Buffer.from(more, 'hex'),
    ])
    const signed = Buffer.concat([data, Buffer.from(honest.client_data_hash, 'base64url')])
    return {
      ...honest,
      authenticator_data: data.toString('base64url'),
      signature: sign('sha256', signed, authenticator.privateKey).toString('base64url'),
    }
  }
  const withExtensions = userPresent | userVerified | 0x80
  assert.equal(wordOf(verify(withMore(withExtensions, 'a16175f5'))), 'ok')
  for (const more of [
    '',
    '80',
    'a16175',
    'a16175f5a0',
    'bf6175f5ff',
    'a26175f56175f5',
    'b8016175f5',
  ]) {
    assert.equal(wordOf(verify(withMore(withExtensions, more))), 'authenticator_data', more)
  }
  assert.equal(wordOf(verify(withMore(userPresent | userVerified, 'a0'))), 'authenticator_data')
})

test('webauthn: an assertion with any single bit flipped is refused', async () => {
  const { authenticator, verify } = await bondedPhone()
  const honest = authenticator.assert('payload')
  assert.equal(wordOf(verify(honest)), 'ok')
  for (const member of [
    'key_id',
    'client_data_hash',
    'authenticator_data',
    'signature',
    'client_data_json',
  ] as const) {
    const bytes = Buffer.from(honest[member], 'base64url')
    for (const at of bytes.keys()) {
      for (let bit = 0; bit < 8; bit++) {
        const appAttest = { ...honest, [member]: flipped(bytes, at, bit).toString('base64url') }
        assert.equal(verify(appAttest).ok, false, `${member} byte ${at} bit ${bit}`)
      }
    }
  }
})

test('webauthn: whatever is sent as a registration is refused, and never throws', {
  timeout,
}, async (t) => {
  const registrar = webauthnRegistrar({ origin: ORIGIN, trust: trustOf(), clock: clockAt(NOW) })
  const honest = [MAKER.attestation, android()].map((attestation) =>
    createAuthenticator({ origin: ORIGIN, aaguid: AAGUID, attestation }).register(CHALLENGE),
  )
  for (const registration of honest)
    assert.equal(wordOf(await registrar.register({ challenge: CHALLENGE, registration })), 'ok')
  const members = ['clientDataJSON', 'attestationObject'] as const
  const samples = honest.flatMap(({ response }) =>
    members.map((member) => Buffer.from(response[member], 'base64url')),
  )
  const told = await fuzz(samples, async (input) => {
    for (const registration of honest) {
      for (const member of members) {
        const response = { ...registration.response, [member]: input.toString('base64url') }
        const { ok } = await registrar.register({
          challenge: CHALLENGE,
          registration: { ...registration, response },
        })
        assert.equal(ok, response[member] === registration.response[member])
      }
    }
  })
  t.diagnostic(told)
})
