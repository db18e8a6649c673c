import assert from 'node:assert/strict'
import { generateKeyPairSync, hash, type KeyObject } from 'node:crypto'
import { test } from 'node:test'
import {
  type CertificateExtension,
  type CertificateOptions,
  certify,
  der,
  createCertificate,
  notAuthority,
  pemOf,
} from '@bonded/simulator'
import { trustAnchor } from '../../src/apple/certificate-chain.ts'
import { type AppReceiptInput, verifyAppReceipt } from '../../src/apple/verify-receipt.ts'
import {
  attributesOf,
  digestNamed,
  ecdsaWith,
  createCms,
  signerIdOf,
  signerIdByKey,
  type SignedDataOptions,
  type SignerOptions,
} from '../cms/test-cms.ts'

const { integer, nothing, octets, oid, sequence, setOf } = der

const NOW = Date.parse('2026-11-21T09:30:00.000Z')
const SECOND_MS = 1_000
const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const DATA = '1.2.840.113549.1.7.1'
const RECEIPT_SIGNER = '1.2.840.113635.100.12.15'
const MARK: CertificateExtension = { id: RECEIPT_SIGNER, value: nothing() }

const keys = (namedCurve: 'P-256' | 'P-384' = 'P-256') => generateKeyPairSync('ec', { namedCurve })
const [root, issuer, otherAuthority] = [keys('P-384'), keys('P-384'), keys('P-384')]
const [signer, phone, stranger] = [keys(), keys(), keys()]

const [byRoot, byIssuer] = [
  { name: 'Root', privateKey: root.privateKey },
  { name: 'Issuer', privateKey: issuer.privateKey },
]
const common = { notBefore: NOW - DAY_MS, notAfter: NOW + DAY_MS } as const
const rootCertificate = (options: Partial<CertificateOptions> = {}) =>
  createCertificate({
    ...common,
    subject: 'Root',
    publicKey: root.publicKey,
    issuer: byRoot,
    digest: 'sha384',
    authority: true,
    ...options,
  })
const issuerCertificate = (options: Partial<CertificateOptions> = {}) =>
  createCertificate({
    ...common,
    subject: 'Issuer',
    publicKey: issuer.publicKey,
    issuer: byRoot,
    digest: 'sha384',
    authority: true,
    ...options,
  })
const signerCertificate = (options: Partial<CertificateOptions> = {}) =>
  createCertificate({
    ...common,
    subject: 'Signer',
    publicKey: signer.publicKey,
    issuer: byIssuer,
    digest: 'sha256',
    authority: false,
    extensions: { [RECEIPT_SIGNER]: nothing() },
    ...options,
  })
/** A certificate of a phone's key: below the same issuer, without the mark. */
const keyCertificate = (publicKey: KeyObject) =>
  signerCertificate({ subject: 'Key', publicKey, extensions: { '1.2.3.4': nothing() } })

const [ROOT, ISSUER, SIGNER] = [rootCertificate(), issuerCertificate(), signerCertificate()]
const ANCHORS = [trustAnchor(pemOf(ROOT), 'sandbox')]
const clientDataHash = hash('sha256', 'challenge', 'buffer')
const FACTS: Omit<AppReceiptInput, 'receipt'> = {
  appId: 'TEAM123456.example.bank',
  publicKey: phone.publicKey.export({ format: 'der', type: 'spki' }),
  environment: 'production',
  clientDataHash,
  now: NOW,
}

const iso = (at: number) => new Date(at).toISOString()
type Fields = Readonly<Record<number, Uint8Array | string | undefined>>
const FIELDS: Fields = {
  2: FACTS.appId,
  3: keyCertificate(phone.publicKey),
  4: clientDataHash,
  // A field that nobody here knows.
  5: 'a token',
  6: 'ATTEST',
  7: 'production',
  12: iso(NOW - MINUTE_MS),
  19: iso(NOW - MINUTE_MS),
  21: iso(NOW + DAY_MS),
}
const field = (number: number, value: Uint8Array | string) =>
  sequence(integer(number), integer(1), octets(value))
/** The content of a receipt whose fields differ in these; undefined leaves one out. */
const contentOf = (change: Fields = {}, ...more: readonly Buffer[]) =>
  setOf(
    ...Object.entries({ ...FIELDS, ...change }).flatMap(([number, value]) =>
      value === undefined ? [] : [field(Number(number), value)],
    ),
    ...more,
  )

interface Tampered {
  readonly data?: Partial<SignedDataOptions>
  readonly signer?: Partial<SignerOptions>
  readonly content?: Uint8Array
  readonly facts?: Partial<AppReceiptInput>
  readonly anchors?: Parameters<typeof verifyAppReceipt>[1]
}
const CONTENT = contentOf()
const HONEST: SignerOptions = { signerId: signerIdOf(SIGNER), key: signer.privateKey }
const receiptOf = ({ data, signer: options, content = CONTENT }: Tampered) =>
  createCms({
    version: 1,
    contentType: DATA,
    content,
    certificates: [SIGNER, ISSUER, ROOT],
    signers: [{ ...HONEST, ...options }],
    ...data,
  })
const judge = (bent: Tampered = {}) =>
  verifyAppReceipt({ ...FACTS, receipt: receiptOf(bent), ...bent.facts }, bent.anchors ?? ANCHORS)
const stepOf = (bent: Tampered) => {
  const finding = judge(bent)
  return finding.ok ? 'verified' : finding.step
}
/** With a signer's certificate of its own, or an issuer's or a root's beside it. */
const under = (one: { signer?: Buffer; issuer?: Buffer; root?: Buffer }): Tampered => {
  const [own = SIGNER, above = ISSUER, top = ROOT] = [one.signer, one.issuer, one.root]
  return {
    data: { certificates: [own, above] },
    signer: { signerId: signerIdOf(own) },
    anchors: [trustAnchor(pemOf(top), 'sandbox')],
  }
}

test('a receipt that the receipt signer below the root has signed for this key is verified, and says what it says', () => {
  const receipt = receiptOf({})
  assert.deepEqual(verifyAppReceipt({ ...FACTS, receipt }, ANCHORS), {
    ok: true,
    value: {
      receipt,
      createdAt: NOW - MINUTE_MS,
      expiresAt: NOW + DAY_MS,
      fresh: true,
      riskMetric: undefined,
    },
  })
  const refreshed = judge({ content: contentOf({ 17: '3' }) })
  assert.equal(refreshed.ok && refreshed.value.riskMetric, '3')
})

function byKey({
  publicKey,
  privateKey,
}: {
  publicKey: KeyObject
  privateKey: KeyObject
}): Tampered {
  const certificate = keyCertificate(publicKey)
  return {
    data: { certificates: [certificate, ISSUER] },
    signer: { signerId: signerIdOf(certificate), key: privateKey },
  }
}

/** A receipt signer whose certificate demands something that nobody here knows. */
function limited(): Buffer {
  return certify({
    ...common,
    serial: 7n,
    subject: [['commonName', 'Signer']],
    issuer: [['commonName', byIssuer.name]],
    issuerKey: issuer.privateKey,
    publicKey: signer.publicKey,
    extensions: [notAuthority, MARK, { id: '1.2.3.4', critical: true, value: nothing() }],
  })
}

/** What a forger would have believed, and the step that refuses it. */
const FORGED: readonly (readonly [string, Tampered, string])[] = [
  // The envelope: read one way only.
  ['SignedData under another name', { data: { type: '1.2.840.113549.1.7.3' } }, 'structure'],
  ['something after the SignedData', { data: { beside: [nothing()] } }, 'structure'],
  ['something after the content', { data: { besideContent: [nothing()] } }, 'structure'],
  ['content of another type', { data: { contentType: '1.2.840.113549.1.9.16.1.4' } }, 'structure'],
  [
    'revocation lists of the sender’s own',
    { data: { revocationLists: [sequence()] } },
    'structure',
  ],
  ['nobody’s signature', { data: { signers: [] } }, 'structure'],
  [
    'a second signer, who is not looked at',
    { data: { signers: [HONEST, { signerId: signerIdOf(SIGNER), key: stranger.privateKey }] } },
    'structure',
  ],
  [
    'five certificates, each of them work',
    { data: { certificates: [SIGNER, ISSUER, ROOT, ROOT, ROOT] } },
    'structure',
  ],
  [
    'attributes beside the signed content',
    { signer: { signedAttributes: attributesOf(DATA, CONTENT), over: CONTENT } },
    'structure',
  ],
  [
    'attributes signed in place of the content',
    { signer: { signedAttributes: attributesOf(DATA, CONTENT) } },
    'structure',
  ],
  [
    'attributes that nobody signed',
    { signer: { unsigned: [der.explicit(1, sequence())] } },
    'structure',
  ],
  ['something after the signature', { signer: { unsigned: [nothing()] } }, 'structure'],
  ['another digest', { signer: { digest: 'sha384' } }, 'structure'],
  [
    'another digest than the signature’s',
    { signer: { digestSaid: digestNamed('sha384') } },
    'structure',
  ],
  [
    'another signature than the digest’s',
    { signer: { algorithm: ecdsaWith('sha384') } },
    'structure',
  ],
  [
    'a signature said to be RSA',
    { signer: { algorithm: sequence(oid('1.2.840.113549.1.1.11')) } },
    'structure',
  ],
  [
    'r and s said to stand side by side',
    { signer: { algorithm: sequence(oid('0.4.0.127.0.7.1.1.4.1.3')) } },
    'structure',
  ],
  [
    'parameters of the signature',
    { signer: { algorithm: sequence(oid('1.2.840.10045.4.3.2'), nothing()) } },
    'structure',
  ],

  // Who signed it.
  ['no certificate', { data: { certificates: [] } }, 'certificate_chain'],
  ['no list of certificates', { data: { certificates: undefined } }, 'certificate_chain'],
  ['the signer’s certificate alone', { data: { certificates: [SIGNER] } }, 'certificate_chain'],
  [
    'a signer that did not come along',
    { signer: { signerId: signerIdOf(signerCertificate()) } },
    'certificate_chain',
  ],
  [
    'a signer named by its key',
    { signer: { signerId: signerIdByKey(Buffer.alloc(20)) } },
    'certificate_chain',
  ],
  [
    'a signer named by more than issuer and serial number',
    { signer: { signerId: signerIdOf(SIGNER, nothing()) } },
    'certificate_chain',
  ],
  ['a signer that cannot be read', { signer: { signerId: sequence() } }, 'certificate_chain'],
  ['a root that is nobody’s', { anchors: [] }, 'certificate_chain'],
  [
    'a root of the forger’s own, with the right name',
    under({
      root: rootCertificate({
        publicKey: otherAuthority.publicKey,
        issuer: { ...byRoot, privateKey: otherAuthority.privateKey },
      }),
    }),
    'certificate_chain',
  ],
  [
    'an issuer of the forger’s own, with the right name',
    under({
      issuer: issuerCertificate({ issuer: { ...byRoot, privateKey: otherAuthority.privateKey } }),
    }),
    'certificate_chain',
  ],
  [
    'a signer of the forger’s own, under the right issuer’s name',
    under({
      signer: signerCertificate({ issuer: { ...byIssuer, privateKey: otherAuthority.privateKey } }),
    }),
    'certificate_chain',
  ],
  [
    'a signer that is an authority',
    under({ signer: signerCertificate({ authority: true }) }),
    'certificate_chain',
  ],
  [
    'an issuer that is none',
    under({ issuer: issuerCertificate({ authority: false }) }),
    'certificate_chain',
  ],
  [
    'a signer that is no longer valid',
    under({ signer: signerCertificate({ notAfter: NOW - SECOND_MS }) }),
    'certificate_chain',
  ],
  [
    'a signer that is not valid yet',
    under({ signer: signerCertificate({ notBefore: NOW + SECOND_MS }) }),
    'certificate_chain',
  ],
  [
    'an issuer that is no longer valid',
    under({ issuer: issuerCertificate({ notAfter: NOW - SECOND_MS }) }),
    'certificate_chain',
  ],
  [
    'a root that is no longer valid',
    under({ root: rootCertificate({ notAfter: NOW - SECOND_MS }) }),
    'certificate_chain',
  ],
  ['a signer whose limits are not understood', under({ signer: limited() }), 'certificate_chain'],
  [
    'the key of the forger’s own phone, which the right issuer has certified',
    byKey(stranger),
    'signer',
  ],

  // What was signed.
  ['another’s signature', { signer: { key: stranger.privateKey } }, 'signature'],
  [
    'a signature over another content',
    { signer: { over: contentOf({ 2: 'TEAM123456.example.other' }) } },
    'signature',
  ],

  // What it says: the receipt signer signs whatever Apple’s other services ask for.
  ['content that is no list of fields', { content: sequence() }, 'fields'],
  ['a list with something after it', { content: Buffer.concat([CONTENT, nothing()]) }, 'fields'],
  ...[2, 3, 4, 6, 7, 12, 21].map(
    (number) =>
      [`no field ${number}`, { content: contentOf({ [number]: undefined }) }, 'fields'] as const,
  ),
  ['a field twice', { content: contentOf({}, field(2, 'TEAM123456.example.other')) }, 'fields'],
  [
    'a field that nobody knows twice',
    { content: contentOf({}, field(5, 'another token')) },
    'fields',
  ],
  [
    'a field of four parts',
    { content: contentOf({}, sequence(integer(30), integer(1), octets('x'), nothing())) },
    'fields',
  ],
  [
    'a field of two parts',
    { content: contentOf({}, sequence(integer(30), octets('x'))) },
    'fields',
  ],
  ['a number that no field has', { content: contentOf({}, field(128, 'x')) }, 'fields'],
  ['a creation that is no time', { content: contentOf({ 12: '2026' }) }, 'fields'],
  ['an expiry without a zone', { content: contentOf({ 21: '2026-11-22T09:30:00' }) }, 'fields'],
  [
    'an expiry in a thirteenth month',
    { content: contentOf({ 21: '2026-13-22T09:30:00Z' }) },
    'fields',
  ],
  ['a refreshed receipt in place of the first', { content: contentOf({ 6: 'RECEIPT' }) }, 'type'],
  ['another app’s', { content: contentOf({ 2: 'TEAM123456.example.other' }) }, 'app_id'],
  ['a development build’s', { content: contentOf({ 7: 'sandbox' }) }, 'environment'],
  [
    'an environment in our own word for it',
    { facts: { environment: 'development' }, content: contentOf({ 7: 'development' }) },
    'environment',
  ],
  ['one from the time to come', { content: contentOf({ 12: iso(NOW + MINUTE_MS + 1) }) }, 'time'],
  ['one that has run out', { content: contentOf({ 21: iso(NOW) }) }, 'time'],
  [
    'another key’s',
    { content: contentOf({ 3: keyCertificate(stranger.publicKey) }) },
    'public_key',
  ],
  ['a key that is no certificate', { content: contentOf({ 3: FACTS.publicKey }) }, 'public_key'],
  [
    'another challenge’s',
    { content: contentOf({ 4: hash('sha256', 'another', 'buffer') }) },
    'client_data_hash',
  ],
]

for (const [what, bent, step] of FORGED)
  test(`a receipt is refused at ${step}: ${what}`, () => assert.equal(stepOf(bent), step))

/** What must not be refused. */
const TAKEN: readonly (readonly [string, Tampered])[] = [
  [
    'a development build’s, where one is expected',
    { facts: { environment: 'development' }, content: contentOf({ 7: 'sandbox' }) },
  ],
  ['four certificates', { data: { certificates: [SIGNER, ISSUER, ROOT, ROOT] } }],
  ['certificates in another order', { data: { certificates: [ROOT, ISSUER, SIGNER] } }],
  ['a certificate that cannot be read', { data: { certificates: [sequence(), SIGNER, ISSUER] } }],
  [
    'another of the issuer’s certificates before the signer’s',
    { data: { certificates: [keyCertificate(phone.publicKey), SIGNER, ISSUER] } },
  ],
  ['one created within the tolerance', { content: contentOf({ 12: iso(NOW + MINUTE_MS) }) }],
  ['one in its last millisecond', { content: contentOf({ 21: iso(NOW + 1) }) }],
]

for (const [what, bent] of TAKEN)
  test(`a receipt is taken: ${what}`, () => assert.equal(stepOf(bent), 'verified'))

test('a receipt is fresh for five minutes', () => {
  for (const [age, fresh] of [
    [5 * MINUTE_MS, true],
    [5 * MINUTE_MS + 1, false],
  ] as const) {
    const finding = judge({ content: contentOf({ 12: iso(NOW - age) }) })
    assert.equal(finding.ok && finding.value.fresh, fresh)
  }
})
