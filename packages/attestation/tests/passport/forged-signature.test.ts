import { der } from '@bonded/simulator'
import { signerIdByKey } from '../cms/test-cms.ts'
import { keyIdOf } from './test-state.ts'
import {
  signer,
  signerWith,
  unrelated,
  SIGNER,
  CONTENT,
  TYPE,
  DIGEST,
  onCurve,
  withUnidentifiedSigner,
  testCases,
} from './forged-passport.ts'

const { oid, sequence, setOf } = der

testCases([
  ['no certificate', { data: { certificates: [] } }, 'none sod_certificate'],
  ['no certificate list', { data: { certificates: undefined } }, 'none sod_certificate'],
  [
    'a signer certificate without a subject',
    { data: { certificates: [signerWith({ subject: [] })] } },
    'none sod_certificate',
  ],
  [
    'a signer certificate without an issuer',
    { data: { certificates: [signerWith({ issuer: [] })] } },
    'none sod_certificate',
  ],
  [
    'a signature by an unrelated key',
    { signer: { key: unrelated.privateKey } },
    'none sod_signature',
  ],
  ['a signature over other attributes', { signer: { over: setOf(TYPE) } }, 'none sod_signature'],
  [
    'a signature over the content despite signed attributes',
    { signer: { over: CONTENT } },
    'none sod_signature',
  ],
  [
    'an ECDSA signature with an RSA identifier',
    { signer: { algorithm: sequence(oid('1.2.840.113549.1.1.11')) } },
    'none sod_signature',
  ],
  [
    'a signature identifier that names only the kind of key',
    { signer: { algorithm: sequence(oid('1.2.840.10045.2.1')) } },
    'document aa_not_sent',
  ],
  [
    'an unknown signature algorithm',
    { signer: { algorithm: sequence(oid('1.2.3.4')) } },
    'none algorithm_unsupported',
  ],
  [
    'such an identifier and a signature over the content',
    { signer: { algorithm: sequence(oid('1.2.840.10045.2.1')), over: CONTENT } },
    'none sod_signature',
  ],
  [
    'signed attributes out of order that are signed in order',
    { signer: { signedAttributes: [DIGEST, TYPE], over: setOf(TYPE, DIGEST) } },
    'document aa_not_sent',
  ],
  ['a signer key on a curve that passports do not use', onCurve('secp256k1'), 'none sod_signature'],
  ['an unreadable signer id', { signer: { signerId: sequence() } }, 'document aa_not_sent'],
  [
    'an unrelated certificate that the signer id does not identify',
    withUnidentifiedSigner(),
    'none sod_signature',
  ],
  [
    'the signer certificate after eight others',
    { data: { certificates: [...Array.from({ length: 8 }, () => sequence()), SIGNER] } },
    'none sod_certificate',
  ],
  [
    'the signer certificate as the eighth',
    { data: { certificates: [...Array.from({ length: 7 }, () => sequence()), SIGNER] } },
    'document aa_not_sent',
  ],
  [
    'a signer id with a key id',
    { signer: { signerId: signerIdByKey(keyIdOf(signer.publicKey)) } },
    'document aa_not_sent',
  ],
  [
    'a signer id with a key id, in version 3',
    { signer: { version: 3, signerId: signerIdByKey(keyIdOf(signer.publicKey)) } },
    'document aa_not_sent',
  ],
  [
    'a signer id with a key id, in version 2',
    { signer: { version: 2, signerId: signerIdByKey(keyIdOf(signer.publicKey)) } },
    'none sod_signed_data',
  ],
])
