import assert from 'node:assert/strict'
import { generateKeyPairSync, hash, sign } from 'node:crypto'
import { test } from 'node:test'
import {
  type Attestation,
  type CborValue,
  createAuthenticator,
  der,
  encodeCbor,
  itself,
  createCertificate,
  pemOf,
} from '@bonded/simulator'
import { webauthnVerifier } from '../src/adapters/proofs/webauthn/assertion.ts'
import { webauthnRegistrar } from '../src/adapters/proofs/webauthn/registrar.ts'
import { rootsOf } from '../src/adapters/proofs/webauthn/trust.ts'
import type { Device } from '../src/domain/session.ts'
import { clockAt, wordOf } from './android-trust.ts'
import {
  android,
  apple,
  CHALLENGE,
  MAKER,
  NO_POINT,
  NOW,
  ORIGIN,
  register,
  trustOf,
  withMembers,
} from './webauthn-makers.ts'

const { explicit, octets, sequence } = der
const DAY_MS = 86_400_000
const ES384 = -35
const NONCE = '1.2.840.113635.100.8.2'

type Bend = (members: Map<string, unknown>) => void
const oneMore: Bend = (members) => members.set('ver', '2.0')
const anotherAlgorithm: Bend = (members) => members.set('alg', ES384)
const noAlgorithm: Bend = (members) => members.delete('alg')
const textForSignature: Bend = (members) => members.set('sig', 'signed')
const noList: Bend = (members) => members.set('x5c', (members.get('x5c') as Buffer[])[0])
const textInList: Bend = (members) =>
  members.set('x5c', [...(members.get('x5c') as Buffer[]), 'certificate'])

/** Statements that hold but for their form: what a looser reader takes, the next one reads otherwise. */
const STATEMENTS: readonly (readonly [
  what: string,
  attestation: Attestation,
  bends: readonly (readonly [what: string, bend: Bend, verdict: string])[],
])[] = [
  [
    'the key’s own statement',
    itself,
    [
      ['one member more', oneMore, 'statement'],
      ['another algorithm', anotherAlgorithm, 'statement'],
      ['text for a signature', textForSignature, 'statement_signature'],
    ],
  ],
  [
    'a maker’s statement',
    MAKER.attestation,
    [
      ['one member more', oneMore, 'statement'],
      ['another algorithm', anotherAlgorithm, 'statement'],
      ['no algorithm', noAlgorithm, 'statement'],
      ['text for a signature', textForSignature, 'statement_signature'],
      ['a certificate outside a list', noList, 'statement'],
      ['text among the certificates', textInList, 'statement'],
    ],
  ],
  [
    'Android’s statement',
    android(),
    [
      ['one member more', oneMore, 'statement'],
      ['another algorithm', anotherAlgorithm, 'statement'],
      ['no algorithm', noAlgorithm, 'statement'],
      ['text for a signature', textForSignature, 'statement_signature'],
      ['a certificate outside a list', noList, 'statement'],
      ['text among the certificates', textInList, 'statement'],
    ],
  ],
  [
    'Apple’s statement',
    apple,
    [
      ['one member more', oneMore, 'statement'],
      ['a certificate outside a list', noList, 'statement'],
      ['text among the certificates', textInList, 'statement'],
    ],
  ],
]

for (const [what, attestation, bends] of STATEMENTS) {
  for (const [how, bend, verdict] of bends) {
    test(`webauthn: ${what} with ${how}: ${verdict}`, async () => {
      assert.equal(wordOf(await register({ attestation })), 'ok')
      assert.equal(wordOf(await register({ attestation: withMembers(attestation, bend) })), verdict)
    })
  }
}

test('webauthn: Apple’s certificate for a key that is no point of its curve attests nothing', async () => {
  const issuer = {
    name: 'root',
    privateKey: generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey,
  }
  const common = {
    issuer,
    digest: 'sha384',
    notBefore: NOW - DAY_MS,
    notAfter: NOW + DAY_MS,
  } as const
  const root = createCertificate({
    ...common,
    subject: 'root',
    publicKey: issuer.privateKey,
    authority: true,
  })
  const attestation: Attestation = ({ authenticatorData, clientDataHash }) => {
    const nonce = hash('sha256', Buffer.concat([authenticatorData, clientDataHash]), 'buffer')
    const extensions = { [NONCE]: sequence(explicit(1, octets(nonce))) }
    return [
      'apple',
      new Map([
        [
          'x5c',
          [
            createCertificate({
              ...common,
              subject: 'key',
              publicKey: NO_POINT,
              authority: false,
              extensions,
            }),
          ],
        ],
      ]),
    ]
  }
  assert.equal(
    wordOf(
      await register(
        { attestation },
        { ...trustOf(), apple: rootsOf([pemOf(root)], 'production') },
      ),
    ),
    'statement_key',
  )
})

/** Where a registration's authenticator data has what, in bytes. */
const [FLAGS_AT, ID_LENGTH_AT, ID_AT, KEY_AT] = [32, 53, 55, 87]
const { id, response } = createAuthenticator({ origin: ORIGIN }).register(CHALLENGE)
const clientData = Buffer.from(response.clientDataJSON, 'base64url')
/** `authData` stands last. */
const authenticatorData = Buffer.from(response.attestationObject, 'base64url').subarray(-164)
const objectOf = (parts: Readonly<Record<string, CborValue>>) =>
  encodeCbor(new Map(Object.entries(parts))).toString('base64url')
const NOBODY = { fmt: 'none', attStmt: new Map() }

const withClientData = (bytes: number) => {
  const filler = 'x'.repeat(bytes - clientData.length - ',"more":""'.length)
  return {
    response: {
      ...response,
      clientDataJSON: Buffer.from(
        `${clientData.toString().slice(0, -1)},"more":"${filler}"}`,
      ).toString('base64url'),
    },
  }
}
const withParts = (parts: Readonly<Record<string, CborValue>>) => ({
  response: { ...response, attestationObject: objectOf(parts) },
})
const withData = (authData: Uint8Array) => withParts({ ...NOBODY, authData })
const withExtensions = (bytes: number) => {
  const data = Buffer.concat([
    authenticatorData,
    encodeCbor(new Map([['more', Buffer.alloc(bytes)]])),
  ])
  data[FLAGS_AT] = authenticatorData.readUInt8(FLAGS_AT) | 0x80
  return withData(data)
}
const withId = (bytes: number) => {
  const credentialId = Buffer.alloc(bytes, 1)
  const length = Buffer.of(bytes >> 8, bytes & 0xff)
  const data = Buffer.concat([
    authenticatorData.subarray(0, ID_LENGTH_AT),
    length,
    credentialId,
    authenticatorData.subarray(KEY_AT),
  ])
  return { id: credentialId.toString('base64url'), ...withData(data) }
}
const otherRp = Buffer.concat([
  hash('sha256', 'example.com', 'buffer'),
  authenticatorData.subarray(FLAGS_AT),
])

const FORMS: readonly (readonly [what: string, bent: object, verdict: string])[] = [
  ['nothing bent', {}, 'ok'],
  [
    'junk after the client data',
    { response: { ...response, clientDataJSON: `${response.clientDataJSON}=` } },
    'encoding',
  ],
  [
    'junk after the attestation object',
    { response: { ...response, attestationObject: `${response.attestationObject}=` } },
    'encoding',
  ],
  ['as much client data as is taken', withClientData(3_072), 'ok'],
  ['a byte more of client data', withClientData(3_073), 'encoding'],
  ['a large attestation object', withExtensions(16_000), 'ok'],
  ['an attestation object that is too large', withExtensions(16_400), 'encoding'],
  [
    'a list for an attestation object',
    { response: { ...response, attestationObject: encodeCbor([1, 2, 3]).toString('base64url') } },
    'attestation_object',
  ],
  [
    'a fourth part',
    withParts({ ...NOBODY, authData: authenticatorData, more: 1 }),
    'attestation_object',
  ],
  [
    'no format',
    withParts({ attStmt: new Map(), authData: authenticatorData }),
    'attestation_object',
  ],
  [
    'a list for a statement',
    withParts({ ...NOBODY, attStmt: [], authData: authenticatorData }),
    'attestation_object',
  ],
  ['text for authenticator data', withParts({ ...NOBODY, authData: 'data' }), 'attestation_object'],
  ['the longest credential id', withId(768), 'ok'],
  ['a credential id of a byte more', withId(769), 'credential_id'],
  ['authenticator data of another RP ID', withData(otherRp), 'app_id'],
  ['authenticator data of 36 bytes', withData(authenticatorData.subarray(0, 36)), 'app_id'],
  [
    'authenticator data without its key',
    withData(authenticatorData.subarray(0, ID_AT)),
    'ceremony',
  ],
]

for (const [what, bent, verdict] of FORMS) {
  test(`webauthn: a registration with ${what}: ${verdict}`, async () => {
    const registrar = webauthnRegistrar({ origin: ORIGIN, trust: trustOf(), clock: clockAt(NOW) })
    const registration = { id, type: 'public-key' as const, response, ...bent }
    assert.equal(wordOf(await registrar.register({ challenge: CHALLENGE, registration })), verdict)
  })
}

test('webauthn: junk after any part of an assertion refuses it, and so does authenticator data that is cut off', async () => {
  const authenticator = createAuthenticator({ origin: ORIGIN })
  const registrar = webauthnRegistrar({ origin: ORIGIN, trust: trustOf(), clock: clockAt(NOW) })
  const registered = await registrar.register({
    challenge: CHALLENGE,
    registration: authenticator.register(CHALLENGE),
  })
  assert.ok(registered.ok)
  const device = { ...registered.value, format: 'webauthn' } as unknown as Device
  const appAttest = authenticator.assert('payload')
  const verdictOf = (bent: object) =>
    wordOf(
      webauthnVerifier({ origin: ORIGIN }).verify({
        device,
        payload: 'payload',
        appAttest: { ...appAttest, ...bent },
      }),
    )
  assert.equal(verdictOf({}), 'ok')
  for (const member of ['client_data_json', 'authenticator_data', 'signature'] as const) {
    assert.equal(verdictOf({ [member]: `${appAttest[member]}=` }), 'encoding', member)
  }
  // The phone signs even this.
  for (const length of [0, FLAGS_AT, 36]) {
    const data = Buffer.from(appAttest.authenticator_data, 'base64url').subarray(0, length)
    const signature = sign(
      'sha256',
      Buffer.concat([data, Buffer.from(appAttest.client_data_hash, 'base64url')]),
      authenticator.privateKey,
    )
    assert.equal(
      verdictOf({
        authenticator_data: data.toString('base64url'),
        signature: signature.toString('base64url'),
      }),
      'authenticator_data',
    )
  }
})
