import { hash } from 'node:crypto'
import { der } from '@bonded/simulator'
import { attribute, attributesOf, digestNamed } from '../cms/test-cms.ts'
import { securityObject } from './test-state.ts'
import {
  LDS,
  CONTENT,
  TYPE,
  DIGEST,
  signedAttributes,
  listing,
  HASH,
  testCases,
} from './forged-passport.ts'

const { element, nothing, octets, oid, sequence } = der

testCases([
  // EF.SOD.
  ['no change', {}, 'document aa_not_sent'],
  [
    'EF.SOD without its file tag',
    { file: (sod) => sod.subarray(sod.indexOf(Buffer.of(0x30))) },
    'document aa_not_sent',
  ],
  ['an empty EF.SOD', { file: () => Buffer.alloc(0) }, 'none sod_unwrap'],
  ['an EF.SOD without content', { file: () => element(0x77) }, 'none sod_unwrap'],
  ['bytes after EF.SOD', { file: (sod) => Buffer.concat([sod, nothing()]) }, 'none sod_unwrap'],
  ['another version of SignedData', { data: { version: 1 } }, 'none sod_signed_data'],
  ['another version of the signer info', { signer: { version: 3 } }, 'none sod_signed_data'],
  [
    'a signature over the content without signed attributes',
    { signer: { signedAttributes: undefined } },
    'none sod_signed_data',
  ],
  [
    'a signer digest that is not in the list of digests',
    { data: { digests: [digestNamed('sha384')] } },
    'none sod_signed_data',
  ],
  [
    'an unknown signer digest',
    { signer: { digestSaid: sequence(oid('1.2.3.4')) } },
    'none sod_signed_data',
  ],
  ['no signer', { data: { signers: [] } }, 'none sod_signed_data'],

  // The list of data groups.
  [
    'a content type of no security object',
    { contentType: '1.2.840.113549.1.9.16.1.4' },
    'none lds_security_object',
  ],
  ['a malformed security object', { object: octets('x') }, 'none lds_security_object'],
  ['an empty list of hashes', listing(), 'none lds_security_object'],
  [
    'an unknown digest in the security object',
    { object: securityObject(sequence(oid('1.2.3.4')), [1, HASH]) },
    'none lds_security_object',
  ],
  [
    'a data group that is listed twice',
    listing([1, HASH], [1, Buffer.alloc(32)]),
    'none lds_security_object',
  ],
  ['a listed data group 0', listing([0, HASH], [1, HASH]), 'none lds_security_object'],
  ['a listed data group 17', listing([1, HASH], [17, HASH]), 'none lds_security_object'],

  // The signed attributes.
  [
    'signed attributes of another passport',
    signedAttributes(...attributesOf(LDS, Buffer.from('another'))),
    'none message_digest',
  ],
  [
    'signed attributes for another content type',
    signedAttributes(...attributesOf('2.23.136.1.1.2', CONTENT)),
    'none message_digest',
  ],
  ['signed attributes without a digest', signedAttributes(TYPE), 'none message_digest'],
  ['signed attributes without a content type', signedAttributes(DIGEST), 'none message_digest'],
  [
    'two message digest attributes',
    signedAttributes(TYPE, DIGEST, attribute('4', octets(Buffer.alloc(32)))),
    'none message_digest',
  ],
  [
    'a message digest attribute with two values',
    signedAttributes(TYPE, attribute('4', octets(hash('sha256', CONTENT, 'buffer')), octets('x'))),
    'none message_digest',
  ],
  [
    'a message digest of another hash function',
    { signer: { digest: 'sha384' }, data: { digests: [digestNamed('sha384')] } },
    'none message_digest',
  ],
])
