import assert from 'node:assert/strict'
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { test } from 'node:test'
import {
  authority,
  certifyBy,
  type CertificateExtension,
  createAuthenticator,
  der,
  type Name,
  notAuthority,
} from '@bonded/simulator'
import { readCertificate } from '../../src/x509/certificate.ts'
import { wordOf } from '../android/trust.ts'
import {
  AAGUID,
  CHALLENGE,
  NO_POINT,
  NOW,
  ORIGIN,
  registrationVerifier,
  trustOf,
} from './test-pki.ts'

const { bits, boolean, nothing, octets, oid, sequence } = der
const SECOND_MS = 1_000
const MODEL: Name = [
  ['country', 'AA'],
  ['organization', 'Manufacturer'],
  ['unit', 'Authenticator Attestation'],
  ['commonName', 'Model'],
]

/** A certificate and its private key, which can issue the next one below it. */
interface Link {
  readonly name: Name
  readonly key: KeyObject
  readonly certificate: Buffer
}

/** How a certificate is signed: the algorithm that it names, and the digest that is used. */
interface Signing {
  readonly algorithm: Buffer
  readonly digest: string
}

interface Tamper {
  readonly name?: Name
  readonly key?: KeyObject
  /** The bytes of the public key. */
  readonly publicKey?: KeyObject
  readonly notBefore?: number
  readonly notAfter?: number
  readonly extensions?: readonly CertificateExtension[]
  readonly signing?: Signing
}

const newKey = (namedCurve = 'P-256') => generateKeyPairSync('ec', { namedCurve }).privateKey
const named = (id: string, ...parameters: readonly Buffer[]) => sequence(oid(id), ...parameters)
const ECDSA_SHA256: Signing = { algorithm: named('1.2.840.10045.4.3.2'), digest: 'sha256' }

/**
 * A certificate below another, or below itself. Valid except for the members that a test changes.
 */
function certified(
  above: Link | 'itself',
  { name = MODEL, key = newKey(), signing = ECDSA_SHA256, ...tamper }: Tamper,
): Link {
  const issuer = above === 'itself' ? { name, key } : above
  const { algorithm, digest } = signing
  const signer = { algorithm, sign: (message: Uint8Array) => sign(digest, message, issuer.key) }
  const content = {
    serial: 1n,
    subject: name,
    issuer: issuer.name,
    publicKey: key,
    notBefore: NOW,
    notAfter: NOW,
    extensions: [],
    ...tamper,
  }
  return { name, key, certificate: certifyBy(signer, content) }
}

const cn = (commonName: string): Name => [['commonName', commonName]]
const issuing = (above: Link | 'itself', name: string, tamper: Tamper = {}) =>
  certified(above, { name: cn(name), extensions: [authority()], ...tamper })
const leafOf = (above: Link, tamper: Tamper = {}) =>
  certified(above, { extensions: [notAuthority], ...tamper })
const extension = (length: number, critical: boolean): CertificateExtension => ({
  id: '1.2.3.4',
  value: octets(Buffer.alloc(length)),
  critical,
})
const keyUsage = (flags: number, unused: number): CertificateExtension => ({
  id: '2.5.29.15',
  critical: true,
  value: bits(Buffer.of(flags), unused),
})

const ROOT = issuing('itself', 'root')
const OTHER_ROOT = issuing('itself', 'other root')
const SHALLOW_ROOT = issuing('itself', 'shallow root', { extensions: [authority(0)] })
const EXPIRED_ROOT = issuing('itself', 'expired root', {
  notBefore: NOW - SECOND_MS,
  notAfter: NOW - SECOND_MS,
})
const TRUSTED = [ROOT, OTHER_ROOT, SHALLOW_ROOT, EXPIRED_ROOT]
const UNTRUSTED = issuing('itself', 'root')
const AUTHORITY = issuing(ROOT, 'authority')
const LEAF = leafOf(AUTHORITY)
const SECOND = issuing(AUTHORITY, 'second authority')
const THIRD = issuing(SECOND, 'third authority')
const FOURTH = issuing(THIRD, 'fourth authority')
const SHALLOW = issuing(ROOT, 'shallow', { extensions: [authority(0)] })
const EMPTY: Link = { ...AUTHORITY, certificate: Buffer.of(0x30, 0x00) }
const below = (tamper: Tamper) => {
  const issuer = issuing(ROOT, 'tampered', tamper)
  return [leafOf(issuer), issuer]
}
const [past, future] = [
  { notBefore: NOW - SECOND_MS, notAfter: NOW - SECOND_MS },
  { notBefore: NOW + SECOND_MS, notAfter: NOW + SECOND_MS },
]

const CHAINS: readonly (readonly [what: string, chain: readonly Link[], verdict: string])[] = [
  // The length and the elements.
  ['a leaf below an authority', [LEAF, AUTHORITY], 'attested'],
  ['the same, with the root', [LEAF, AUTHORITY, ROOT], 'attested'],
  ['a leaf below a root', [leafOf(ROOT)], 'attested'],
  ['a leaf below four authorities', [leafOf(FOURTH), FOURTH, THIRD, SECOND, AUTHORITY], 'attested'],
  [
    'a valid chain of six',
    [leafOf(FOURTH), FOURTH, THIRD, SECOND, AUTHORITY, ROOT],
    'chain_length',
  ],
  ['an empty chain', [], 'chain_length'],
  ['the root alone', [ROOT], 'chain_length'],
  ['an empty element instead of an authority', [LEAF, EMPTY], 'certificate'],
  [
    'a certificate of more than 8 KiB',
    [leafOf(ROOT, { extensions: [notAuthority, extension(8_192, false)] })],
    'certificate',
  ],
  // The dates. All other certificates are valid for one second only, which is now.
  ['a leaf that ended a second ago', [leafOf(ROOT, past)], 'validity'],
  ['a leaf that begins in a second', [leafOf(ROOT, future)], 'validity'],
  ['an authority that ended a second ago', below(past), 'validity'],
  ['an authority that begins in a second', below(future), 'validity'],
  ['a trusted root that has ended', [leafOf(EXPIRED_ROOT)], 'root'],
  [
    'a trusted root that has ended and is in the chain',
    [leafOf(EXPIRED_ROOT), EXPIRED_ROOT],
    'root',
  ],
  // Unknown extensions.
  [
    'a leaf with an unknown critical extension',
    [leafOf(ROOT, { extensions: [notAuthority, extension(1, true)] })],
    'critical_extension',
  ],
  [
    'an authority with an unknown critical extension',
    below({ extensions: [authority(), extension(1, true)] }),
    'critical_extension',
  ],
  [
    'an authority with an unknown extension that is not critical',
    below({ extensions: [authority(), extension(1, false)] }),
    'attested',
  ],
  [
    'an authority with a critical key usage',
    below({ extensions: [authority(), keyUsage(0x06, 1)] }),
    'attested',
  ],
  // The right to issue.
  ['a genuine leaf that certifies a forged one', [leafOf(LEAF), LEAF, AUTHORITY], 'issuer_not_ca'],
  [
    'an authority without the right to sign certificates',
    below({ extensions: [authority(), keyUsage(0x80, 7)] }),
    'issuer_not_ca',
  ],
  [
    'an authority with path length 0 above the leaf',
    below({ extensions: [authority(0)] }),
    'attested',
  ],
  ['an authority below one with path length 0', twoBelow(SHALLOW, [SHALLOW]), 'path_length'],
  ['a root with path length 0 above the leaf', [leafOf(SHALLOW_ROOT)], 'attested'],
  ['an authority below a root with path length 0', twoBelow(SHALLOW_ROOT), 'root'],
  [
    'an authority with a public key outside its curve',
    below({ publicKey: NO_POINT }),
    'issuer_key',
  ],
  // The actual issuer.
  [
    'a forged leaf under an authority’s name',
    [leafOf(forgedAs(AUTHORITY)), AUTHORITY],
    'signature',
  ],
  [
    'a leaf that an authority signed under another name',
    [leafOf({ ...AUTHORITY, name: cn('another') }), AUTHORITY],
    'issuer_name',
  ],
  [
    'a forged authority two below the root',
    twoBelow(forgedAs(SECOND), [SECOND, AUTHORITY]),
    'signature',
  ],
  ['a forged authority below the root', twoBelow(forgedAs(ROOT)), 'root'],
  ['the same, with the root', twoBelow(forgedAs(ROOT), [ROOT]), 'root'],
  [
    'an authority that the root signed under another name',
    twoBelow({ ...ROOT, name: cn('another') }),
    'root',
  ],
  ['a forged root of the same name', [leafOf(UNTRUSTED)], 'root'],
  ['a forged root of the same name in the chain', [leafOf(UNTRUSTED), UNTRUSTED], 'root'],
  ['a chain to one root with another root at its end', [LEAF, AUTHORITY, OTHER_ROOT], 'root'],
  ['a chain with a missing authority', [leafOf(SECOND), AUTHORITY], 'issuer_name'],
  ['a chain without its last authority', [leafOf(SECOND), SECOND], 'root'],
  ['a chain with a certificate after its root', [LEAF, AUTHORITY, ROOT, OTHER_ROOT], 'root'],
  // The leaf.
  [
    'an authority instead of a leaf',
    [certified(AUTHORITY, { extensions: [authority()] }), AUTHORITY],
    'statement_certificate',
  ],
  [
    'a leaf without basic constraints',
    [certified(AUTHORITY, {}), AUTHORITY],
    'statement_certificate',
  ],
  [
    'a leaf with a key of another curve',
    [leafOf(AUTHORITY, { key: newKey('P-384') }), AUTHORITY],
    'statement',
  ],
  [
    'a leaf with a public key outside its curve',
    [leafOf(AUTHORITY, { publicKey: NO_POINT }), AUTHORITY],
    'statement',
  ],
  [
    'a leaf whose AAGUID extension is a boolean',
    [leafOf(AUTHORITY, { extensions: [notAuthority, model(boolean(true))] }), AUTHORITY],
    'statement_aaguid',
  ],
]

for (const [what, chain, verdict] of CHAINS) {
  test(`webauthn: ${what}: ${verdict}`, async () => {
    assert.equal(await verdictOf(chain), verdict)
  })
}

const EC_AUTHORITY = issuing(ROOT, 'EC authority')
const RSA_AUTHORITY = issuing(ROOT, 'RSA authority', {
  key: generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey,
})
const CURVE = oid('1.2.840.10045.3.1.7')

/**
 * The algorithm that an authority signs with, the one that it names, and the verdict. The signature
 * itself is valid each time.
 */
const ALGORITHMS: readonly (readonly [
  what: string,
  issuer: Link,
  signing: Signing,
  verdict: string,
])[] = [
  [
    'ECDSA with SHA-384',
    EC_AUTHORITY,
    { algorithm: named('1.2.840.10045.4.3.3'), digest: 'sha384' },
    'attested',
  ],
  [
    'ECDSA with SHA-512',
    EC_AUTHORITY,
    { algorithm: named('1.2.840.10045.4.3.4'), digest: 'sha512' },
    'attested',
  ],
  [
    'ECDSA with NULL parameters',
    EC_AUTHORITY,
    { algorithm: named('1.2.840.10045.4.3.2', nothing()), digest: 'sha256' },
    'attested',
  ],
  [
    'RSA with SHA-256',
    RSA_AUTHORITY,
    { algorithm: named('1.2.840.113549.1.1.11', nothing()), digest: 'sha256' },
    'attested',
  ],
  [
    'ECDSA with SHA-1',
    EC_AUTHORITY,
    { algorithm: named('1.2.840.10045.4.1'), digest: 'sha1' },
    'signature',
  ],
  [
    'RSA with SHA-1',
    RSA_AUTHORITY,
    { algorithm: named('1.2.840.113549.1.1.5', nothing()), digest: 'sha1' },
    'signature',
  ],
  [
    'ECDSA with SHA-224',
    EC_AUTHORITY,
    { algorithm: named('1.2.840.10045.4.3.1'), digest: 'sha224' },
    'signature',
  ],
  [
    'ECDSA under the name of RSA',
    EC_AUTHORITY,
    { algorithm: named('1.2.840.113549.1.1.11', nothing()), digest: 'sha256' },
    'signature',
  ],
  [
    'RSA under the name of ECDSA',
    RSA_AUTHORITY,
    { algorithm: named('1.2.840.10045.4.3.2'), digest: 'sha256' },
    'signature',
  ],
  [
    'ECDSA under the name of passports',
    EC_AUTHORITY,
    { algorithm: named('0.4.0.127.0.7.1.1.4.1.3'), digest: 'sha256' },
    'signature',
  ],
  [
    'ECDSA with parameters',
    EC_AUTHORITY,
    { algorithm: named('1.2.840.10045.4.3.2', CURVE), digest: 'sha256' },
    'signature',
  ],
  [
    'ECDSA under the name of EdDSA',
    EC_AUTHORITY,
    { algorithm: named('1.3.101.112'), digest: 'sha256' },
    'signature',
  ],
]

for (const [what, issuer, signing, verdict] of ALGORITHMS) {
  test(`webauthn: a certificate signed by ${what}: ${verdict}`, async () => {
    assert.equal(await verdictOf([leafOf(issuer, { signing }), issuer]), verdict)
  })
}

/** The verdict on a registration with a statement by the key of the first certificate. */
async function verdictOf(chain: readonly Link[]): Promise<string> {
  const packed = TRUSTED.map((root) => {
    const certificate = readCertificate(root.certificate)
    assert.ok(certificate)
    return { certificate, environment: 'production' as const }
  })
  const register = registrationVerifier({ trust: { ...trustOf(), packed } })
  const authenticator = createAuthenticator({
    origin: ORIGIN,
    aaguid: AAGUID,
    attestation: ({ authenticatorData, clientDataHash, privateKey }) => [
      'packed',
      new Map<string, number | Buffer | Buffer[]>([
        ['alg', -7],
        [
          'sig',
          sign(
            'sha256',
            Buffer.concat([authenticatorData, clientDataHash]),
            chain[0]?.key ?? privateKey,
          ),
        ],
        ['x5c', chain.map(({ certificate }) => certificate)],
      ]),
    ],
  })
  const registered = await register(CHALLENGE, authenticator.register(CHALLENGE))
  return registered.ok && registered.value.attested ? 'attested' : wordOf(registered)
}

/** A forged issuer: the same name with another key. */
function forgedAs(issuer: Link): Link {
  return { ...issuer, key: newKey() }
}

/** A leaf and an authority below the issuer, followed by the other certificates. */
function twoBelow(issuer: Link, above: readonly Link[] = []): Link[] {
  const lower = issuing(issuer, 'lower')
  return [leafOf(lower), lower, ...above]
}

function model(value: Buffer): CertificateExtension {
  return { id: '1.3.6.1.4.1.45724.1.1.4', value }
}
