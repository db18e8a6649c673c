import assert from 'node:assert/strict'
import { generateKeyPairSync, hash } from 'node:crypto'
import { test } from 'node:test'
import { type Attestation, der, selfAttestation, createCertificate, pemOf } from '@bonded/simulator'
import { attestationRoots } from '../../src/webauthn/trust.ts'
import { wordOf } from '../android/trust.ts'
import {
  android,
  apple,
  MANUFACTURER,
  NO_POINT,
  NOW,
  register,
  trustOf,
  withMembers,
} from './test-pki.ts'

const { explicit, octets, sequence } = der
const DAY_MS = 86_400_000
const ES384 = -35
const NONCE = '1.2.840.113635.100.8.2'

type Tamper = (members: Map<string, unknown>) => void
const oneMore: Tamper = (members) => members.set('ver', '2.0')
const anotherAlgorithm: Tamper = (members) => members.set('alg', ES384)
const noAlgorithm: Tamper = (members) => members.delete('alg')
const textForSignature: Tamper = (members) => members.set('sig', 'signed')
const noList: Tamper = (members) => members.set('x5c', (members.get('x5c') as Buffer[])[0])
const textInList: Tamper = (members) =>
  members.set('x5c', [...(members.get('x5c') as Buffer[]), 'certificate'])

/**
 * Valid statements in an invalid form. Two lenient readers could read such a form differently.
 */
const STATEMENTS: readonly (readonly [
  what: string,
  attestation: Attestation,
  tampers: readonly (readonly [what: string, tamper: Tamper, verdict: string])[],
])[] = [
  [
    'the key’s own statement',
    selfAttestation,
    [
      ['an additional member', oneMore, 'statement'],
      ['another algorithm', anotherAlgorithm, 'statement'],
      ['text for a signature', textForSignature, 'statement_signature'],
    ],
  ],
  [
    'a manufacturer’s statement',
    MANUFACTURER.attestation,
    [
      ['an additional member', oneMore, 'statement'],
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
      ['an additional member', oneMore, 'statement'],
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
      ['an additional member', oneMore, 'statement'],
      ['a certificate outside a list', noList, 'statement'],
      ['text among the certificates', textInList, 'statement'],
    ],
  ],
]

for (const [what, attestation, tampers] of STATEMENTS) {
  for (const [how, tamper, verdict] of tampers) {
    test(`webauthn: ${what} with ${how}: ${verdict}`, async () => {
      assert.equal(wordOf(await register({ attestation })), 'ok')
      assert.equal(
        wordOf(await register({ attestation: withMembers(attestation, tamper) })),
        verdict,
      )
    })
  }
}

test('webauthn: rejects Apple’s certificate for a key outside its curve', async () => {
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
        { ...trustOf(), apple: attestationRoots([pemOf(root)], 'production') },
      ),
    ),
    'statement_key',
  )
})
