import assert from 'node:assert/strict'
import { sign } from 'node:crypto'
import { test } from 'node:test'
import {
  type AuthenticatorOptions,
  createAuthenticator,
  createAuthenticatorAuthority,
  encodeRootOfTrust,
  selfAttestation,
  noAttestation,
  WEBAUTHN_FLAGS,
} from '@bonded/simulator'
import { appleWebAuthnRoots } from '../../src/webauthn/trust.ts'
import { readCertificate } from '../../src/x509/certificate.ts'
import { POLICY, wordOf } from '../android/trust.ts'
import { fuzz } from '../harness/fuzz.ts'
import {
  AAGUID,
  android,
  apple,
  CHALLENGE,
  MANUFACTURER,
  ORIGIN,
  register,
  registrationVerifier,
  trustOf,
  withMembers,
} from './test-pki.ts'

const { userPresent, userVerified, backupEligible, backedUp } = WEBAUTHN_FLAGS
const untrusted = createAuthenticatorAuthority(AAGUID)

const REGISTRATIONS: readonly (readonly [
  what: string,
  options: Partial<AuthenticatorOptions>,
  verdict: string,
])[] = [
  [
    'an authenticator of a trusted manufacturer',
    { attestation: MANUFACTURER.attestation },
    'production attested',
  ],
  [
    'an authenticator of a trusted manufacturer with a synced key',
    { attestation: MANUFACTURER.attestation, flags: userPresent | userVerified | backupEligible },
    'production unattested',
  ],
  ['an authenticator of an unknown manufacturer', { attestation: untrusted.attestation }, 'root'],
  [
    'an authenticator of another model',
    { attestation: MANUFACTURER.attestation, aaguid: Buffer.alloc(16, 8) },
    'statement_aaguid',
  ],
  ['no attestation', { attestation: noAttestation }, 'production unattested'],
  [
    'no attestation with a member',
    { attestation: withMembers(noAttestation, (members) => members.set('x', 1)) },
    'statement',
  ],
  ['self attestation', { attestation: selfAttestation }, 'production unattested'],
  [
    'self attestation with another algorithm',
    { attestation: withMembers(selfAttestation, (members) => members.set('alg', -257)) },
    'statement',
  ],
  [
    'self attestation over other client data',
    { attestation: (about) => selfAttestation({ ...about, clientDataHash: Buffer.alloc(32) }) },
    'statement_signature',
  ],
  [
    'a manufacturer’s statement over other client data',
    {
      attestation: (about) =>
        MANUFACTURER.attestation({ ...about, clientDataHash: Buffer.alloc(32) }),
    },
    'statement_signature',
  ],
  [
    'a manufacturer’s statement without certificates',
    { attestation: withMembers(MANUFACTURER.attestation, (members) => members.set('x5c', [])) },
    'chain_length',
  ],
  [
    'a manufacturer’s statement with its root',
    {
      attestation: withMembers(MANUFACTURER.attestation, (members) =>
        (members.get('x5c') as Buffer[]).push(MANUFACTURER.root),
      ),
    },
    'production attested',
  ],
  [
    'a manufacturer’s statement with another root',
    {
      attestation: withMembers(MANUFACTURER.attestation, (members) =>
        (members.get('x5c') as Buffer[]).push(untrusted.root),
      ),
    },
    'issuer_name_or_signature',
  ],
  ['an unknown format', { attestation: () => ['compound', new Map()] }, 'statement_format'],
  ['Android hardware', { attestation: android() }, 'production attested'],
  [
    'Android hardware of an unlocked phone',
    { attestation: android({ 704: encodeRootOfTrust({ locked: false, state: 2 }) }) },
    'sandbox attested',
  ],
  [
    'Android hardware with a signature over other data',
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
    'an iPhone’s statement with its algorithm',
    { attestation: withMembers(apple, (members) => members.set('alg', -7)) },
    'production attested',
  ],
  [
    'an iPhone’s statement with another algorithm',
    { attestation: withMembers(apple, (members) => members.set('alg', -257)) },
    'statement',
  ],
  [
    'an iPhone’s statement with a signature',
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
  ['an authenticator that did not verify the user', { flags: userPresent }, 'user_verified'],
  ['an authenticator without user presence', { flags: userVerified }, 'user_present'],
  [
    'a backed-up key that is not eligible for backup',
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
  test(`webauthn: ${what}: ${verdict}`, async () => {
    const registered = await register(options)
    if (verdict === 'issuer_name_or_signature') return assert.ok(!registered.ok)
    const shown = registered.ok
      ? `${registered.value.environment} ${registered.value.attested ? '' : 'un'}attested`
      : wordOf(registered)
    assert.equal(shown, verdict)
  })
}

test('webauthn: returns attested and sandbox for an authenticator under a test root', async () => {
  const registered = await register({ attestation: MANUFACTURER.attestation }, trustOf('sandbox'))
  assert.ok(registered.ok)
  assert.deepEqual([registered.value.environment, registered.value.attested], ['sandbox', true])
})

test('webauthn: rejects a certificate of a trusted manufacturer that is not for authenticators', async () => {
  const model = [
    ['country', 'AA'],
    ['organization', 'x'],
    ['unit', 'Authenticator Attestation'],
    ['commonName', 'x'],
  ] as const
  const verdictOf = async (subject: readonly (typeof model)[number][]) => {
    const manufacturer = createAuthenticatorAuthority(AAGUID, { subject })
    const certificate = readCertificate(manufacturer.root)
    assert.ok(certificate)
    return wordOf(
      await register(
        { attestation: manufacturer.attestation },
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

test('webauthn: attests no key without a configured root', async () => {
  assert.equal(
    wordOf(await register({ attestation: MANUFACTURER.attestation }, { ...trustOf(), packed: [] })),
    'root',
  )
  assert.equal(
    wordOf(await register({ attestation: android() }, { ...trustOf(), android: POLICY })),
    'root',
  )
  assert.equal(
    wordOf(await register({ attestation: apple }, { ...trustOf(), apple: appleWebAuthnRoots() })),
    'root',
  )
  assert.equal(appleWebAuthnRoots().length, 1)
})

test('webauthn: rejects client data of another type, challenge, or frame', async () => {
  const verify = registrationVerifier()
  const honest = createAuthenticator({ origin: ORIGIN }).register(CHALLENGE)
  const sent = JSON.parse(Buffer.from(honest.response.clientDataJSON, 'base64url').toString())
  const verdict = async (text: string | Buffer) => {
    const response = {
      ...honest.response,
      clientDataJSON: Buffer.from(text as string).toString('base64url'),
    }
    return wordOf(await verify(CHALLENGE, { ...honest, response }))
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
  assert.equal(wordOf(await verify(CHALLENGE, { ...honest, id: 'AAAA' })), 'credential_id')
})

test('webauthn: rejects any altered registration and never throws', async (t) => {
  const verify = registrationVerifier()
  const honest = [MANUFACTURER.attestation, android()].map((attestation) =>
    createAuthenticator({ origin: ORIGIN, aaguid: AAGUID, attestation }).register(CHALLENGE),
  )
  for (const registration of honest)
    assert.equal(wordOf(await verify(CHALLENGE, registration)), 'ok')
  const members = ['clientDataJSON', 'attestationObject'] as const
  const samples = honest.flatMap(({ response }) =>
    members.map((member) => Buffer.from(response[member], 'base64url')),
  )
  const summary = await fuzz(samples, async (input) => {
    for (const registration of honest) {
      for (const member of members) {
        const response = { ...registration.response, [member]: input.toString('base64url') }
        const { ok } = await verify(CHALLENGE, { ...registration, response })
        assert.equal(ok, response[member] === registration.response[member])
      }
    }
  })
  t.diagnostic(summary)
})
