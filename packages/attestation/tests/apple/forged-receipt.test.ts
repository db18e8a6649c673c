import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import { der } from '@bonded/simulator'
import { attributesOf, digestNamed, ecdsaWith, signerIdOf, signerIdByKey } from '../cms/test-cms.ts'
import {
  NOW,
  SECOND_MS,
  MINUTE_MS,
  DATA,
  otherAuthority,
  unrelated,
  byRoot,
  byIssuer,
  rootCertificate,
  issuerCertificate,
  signerCertificate,
  keyCertificate,
  ROOT,
  ISSUER,
  SIGNER,
  FACTS,
  iso,
  field,
  contentOf,
  type Tampered,
  CONTENT,
  HONEST,
  stepOf,
  under,
  byKey,
  limited,
} from './receipts.ts'

const { integer, nothing, octets, oid, sequence } = der

/** What was changed, the change, and the step that rejects it. */
const FORGED: readonly (readonly [change: string, tampered: Tampered, step: string])[] = [
  // The envelope.
  [
    'SignedData with another content type identifier',
    { data: { type: '1.2.840.113549.1.7.3' } },
    'structure',
  ],
  ['an element after the SignedData', { data: { beside: [nothing()] } }, 'structure'],
  ['an element after the content', { data: { besideContent: [nothing()] } }, 'structure'],
  ['content of another type', { data: { contentType: '1.2.840.113549.1.9.16.1.4' } }, 'structure'],
  ['included revocation lists', { data: { revocationLists: [sequence()] } }, 'structure'],
  ['no signer', { data: { signers: [] } }, 'structure'],
  [
    'a second signer',
    { data: { signers: [HONEST, { signerId: signerIdOf(SIGNER), key: unrelated.privateKey }] } },
    'structure',
  ],
  [
    'five certificates',
    { data: { certificates: [SIGNER, ISSUER, ROOT, ROOT, ROOT] } },
    'structure',
  ],
  [
    'signed attributes and a signature over the content',
    { signer: { signedAttributes: attributesOf(DATA, CONTENT), over: CONTENT } },
    'structure',
  ],
  ['signed attributes', { signer: { signedAttributes: attributesOf(DATA, CONTENT) } }, 'structure'],
  ['unsigned attributes', { signer: { unsigned: [der.explicit(1, sequence())] } }, 'structure'],
  ['an element after the signature', { signer: { unsigned: [nothing()] } }, 'structure'],
  ['another digest', { signer: { digest: 'sha384' } }, 'structure'],
  [
    'a digest that differs from the signature’s',
    { signer: { digestSaid: digestNamed('sha384') } },
    'structure',
  ],
  [
    'a signature algorithm that differs from the digest',
    { signer: { algorithm: ecdsaWith('sha384') } },
    'structure',
  ],
  [
    'an RSA identifier',
    { signer: { algorithm: sequence(oid('1.2.840.113549.1.1.11')) } },
    'structure',
  ],
  [
    'a plain ECDSA identifier',
    { signer: { algorithm: sequence(oid('0.4.0.127.0.7.1.1.4.1.3')) } },
    'structure',
  ],
  [
    'signature algorithm parameters',
    { signer: { algorithm: sequence(oid('1.2.840.10045.4.3.2'), nothing()) } },
    'structure',
  ],

  // The signer.
  ['no certificate', { data: { certificates: [] } }, 'certificate_chain'],
  ['no certificate list', { data: { certificates: undefined } }, 'certificate_chain'],
  [
    'the signer certificate without its issuer',
    { data: { certificates: [SIGNER] } },
    'certificate_chain',
  ],
  [
    'a signer whose certificate is not included',
    { signer: { signerId: signerIdOf(signerCertificate()) } },
    'certificate_chain',
  ],
  [
    'a signer id with a key id',
    { signer: { signerId: signerIdByKey(Buffer.alloc(20)) } },
    'certificate_chain',
  ],
  [
    'a signer id with an additional element',
    { signer: { signerId: signerIdOf(SIGNER, nothing()) } },
    'certificate_chain',
  ],
  ['an unreadable signer id', { signer: { signerId: sequence() } }, 'certificate_chain'],
  ['no trusted root', { anchors: [] }, 'certificate_chain'],
  [
    'an untrusted root with the expected name',
    under({
      root: rootCertificate({
        publicKey: otherAuthority.publicKey,
        issuer: { ...byRoot, privateKey: otherAuthority.privateKey },
      }),
    }),
    'certificate_chain',
  ],
  [
    'an issuer that another root signed',
    under({
      issuer: issuerCertificate({ issuer: { ...byRoot, privateKey: otherAuthority.privateKey } }),
    }),
    'certificate_chain',
  ],
  [
    'a signer that another issuer signed',
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
    'an issuer that is not an authority',
    under({ issuer: issuerCertificate({ authority: false }) }),
    'certificate_chain',
  ],
  [
    'an expired signer',
    under({ signer: signerCertificate({ notAfter: NOW - SECOND_MS }) }),
    'certificate_chain',
  ],
  [
    'a signer that is not yet valid',
    under({ signer: signerCertificate({ notBefore: NOW + SECOND_MS }) }),
    'certificate_chain',
  ],
  [
    'an expired issuer',
    under({ issuer: issuerCertificate({ notAfter: NOW - SECOND_MS }) }),
    'certificate_chain',
  ],
  [
    'an expired root',
    under({ root: rootCertificate({ notAfter: NOW - SECOND_MS }) }),
    'certificate_chain',
  ],
  [
    'a signer with an unknown critical extension',
    under({ signer: limited() }),
    'certificate_chain',
  ],
  ['a signer that is an App Attest key of the same issuer', byKey(unrelated), 'signer'],

  // The signature.
  ['a signature by another key', { signer: { key: unrelated.privateKey } }, 'signature'],
  [
    'a signature over another content',
    { signer: { over: contentOf({ 2: 'TEAM123456.example.other' }) } },
    'signature',
  ],

  // The fields. The receipt signer also signs for other services of Apple.
  ['content that is not a SET of fields', { content: sequence() }, 'fields'],
  ['bytes after the fields', { content: Buffer.concat([CONTENT, nothing()]) }, 'fields'],
  ...[2, 3, 4, 6, 7, 12, 21].map(
    (number) =>
      [
        `a missing field ${number}`,
        { content: contentOf({ [number]: undefined }) },
        'fields',
      ] as const,
  ),
  ['a repeated field', { content: contentOf({}, field(2, 'TEAM123456.example.other')) }, 'fields'],
  ['a repeated unknown field', { content: contentOf({}, field(5, 'another token')) }, 'fields'],
  [
    'a field with an additional element',
    { content: contentOf({}, sequence(integer(30), integer(1), octets('x'), nothing())) },
    'fields',
  ],
  [
    'a field with a missing element',
    { content: contentOf({}, sequence(integer(30), octets('x'))) },
    'fields',
  ],
  ['a field number above 127', { content: contentOf({}, field(128, 'x')) }, 'fields'],
  ['a malformed creation time', { content: contentOf({ 12: '2026' }) }, 'fields'],
  [
    'an expiry without a time zone',
    { content: contentOf({ 21: '2026-11-22T09:30:00' }) },
    'fields',
  ],
  ['an expiry in month 13', { content: contentOf({ 21: '2026-13-22T09:30:00Z' }) }, 'fields'],
  ['a refreshed receipt', { content: contentOf({ 6: 'RECEIPT' }) }, 'type'],
  ['a receipt of another app', { content: contentOf({ 2: 'TEAM123456.example.other' }) }, 'app_id'],
  ['a receipt of a development build', { content: contentOf({ 7: 'sandbox' }) }, 'environment'],
  [
    'an environment named development',
    { facts: { environment: 'development' }, content: contentOf({ 7: 'development' }) },
    'environment',
  ],
  [
    'a creation time in the future',
    { content: contentOf({ 12: iso(NOW + MINUTE_MS + 1) }) },
    'time',
  ],
  ['an expired receipt', { content: contentOf({ 21: iso(NOW) }) }, 'time'],
  [
    'a receipt of another key',
    { content: contentOf({ 3: keyCertificate(unrelated.publicKey) }) },
    'public_key',
  ],
  ['a key instead of a certificate', { content: contentOf({ 3: FACTS.publicKey }) }, 'public_key'],
  [
    'a receipt for another challenge',
    { content: contentOf({ 4: hash('sha256', 'another', 'buffer') }) },
    'client_data_hash',
  ],
]

for (const [change, tampered, step] of FORGED)
  test(`rejects a receipt at ${step}: ${change}`, () => assert.equal(stepOf(tampered), step))
