import { der, createPassportChip, createMrz } from '@bonded/simulator'
import { dg1With, nameIn } from './test-state.ts'
import {
  CHALLENGE,
  stateWith,
  signerWith,
  DG1,
  chip,
  DG14,
  RESPONSE,
  signedWith,
  listing,
  HASH,
  zone,
  chipped,
  testCases,
} from './forged-passport.ts'

const { element, nothing, setOf } = der

testCases([
  // The data groups.
  ['an unlisted DG1', listing([2, HASH]), 'none dg1_missing'],
  [
    'another DG1',
    { sent: { dg1: dg1With(createMrz({ documentNumber: 'X00000001' })) } },
    'none dg_hash',
  ],
  [
    'another DG14',
    { dg14: DG14, dg15: chip.dg15, sent: { dg14: element(0x6e, setOf()) } },
    'none dg_hash',
  ],
  [
    'another DG15',
    { dg14: DG14, dg15: chip.dg15, sent: { dg15: createPassportChip({ kind: 'ecdsa' }).dg15 } },
    'none dg_hash',
  ],
  ['a truncated hash', listing([1, HASH.subarray(0, 16)]), 'none dg_hash'],
  ['an empty hash', listing([1, Buffer.alloc(0)]), 'none dg_hash'],
  [
    'a listed DG1 with the tag of another file',
    { dg1: element(0x75, element(0x5f1f, Buffer.from(createMrz()))) },
    'none mrz',
  ],
  [
    'a listed DG1 with the tag of another field',
    { dg1: element(0x61, element(0x5f1e, Buffer.from(createMrz()))) },
    'none mrz',
  ],
  ['bytes after a listed DG1', { dg1: Buffer.concat([DG1, nothing()]) }, 'none mrz'],
  ['a listed chip key and its signature', chipped({}), 'chip'],
  [
    'an unlisted chip key',
    { sent: { dg14: DG14, dg15: chip.dg15, activeAuthentication: RESPONSE } },
    'document dg15_not_listed',
  ],
  [
    'an unlisted DG14',
    { dg15: chip.dg15, sent: { dg14: DG14, activeAuthentication: RESPONSE } },
    'document dg14_not_listed',
  ],
  [
    'a signature by another chip',
    chipped({ activeAuthentication: createPassportChip({ kind: 'ecdsa' }).response(CHALLENGE) }),
    'document aa_signature',
  ],
  [
    'a signature over another challenge',
    chipped({ challenge: Buffer.alloc(8) }),
    'document aa_signature',
  ],

  // The zone. mrz.test.ts covers the parser.
  [
    'a signed zone with a wrong check digit',
    zone({}, (text) => text.replace('L898902C36', 'L898902C35')),
    'none mrz',
  ],
  ['a zone that is too long', zone({}, (text) => `${text}<`), 'none mrz'],
  ['a zone of another state than the signer', zone({ issuingState: 'AUT' }), 'none country'],
  [
    'a signer and an issuer without a country',
    {
      certificate: signerWith({
        subject: nameIn(undefined, 'Signer'),
        issuer: nameIn(undefined, 'State'),
      }),
      trusted: [stateWith({ subject: nameIn(undefined, 'State') })],
    },
    'none country',
  ],
  [
    'a signer without a country whose issuer has one',
    signedWith({ subject: nameIn(undefined, 'Signer') }),
    'document aa_not_sent',
  ],
  [
    'a signer with a lower-case country',
    signedWith({ subject: nameIn('ut', 'Signer') }),
    'document aa_not_sent',
  ],
  [
    'two codes that match a state only when concatenated',
    { ...zone({ issuingState: 'UT' }), ...signedWith({ subject: nameIn('OUT', 'Signer') }) },
    'none country',
  ],
  [
    'the last millisecond of its expiry day at UTC-12',
    { ...zone({ expiry: '261119' }), now: Date.parse('2026-11-20T12:00:00Z') - 1 },
    'document aa_not_sent',
  ],
  [
    'the first millisecond after its expiry day at UTC-12',
    { ...zone({ expiry: '261119' }), now: Date.parse('2026-11-20T12:00:00Z') },
    'none expired',
  ],
])
