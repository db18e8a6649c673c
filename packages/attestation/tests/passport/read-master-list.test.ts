import assert from 'node:assert/strict'
import { test } from 'node:test'
import { der } from '@bonded/simulator'
import { readMasterList } from '../../src/passport/read-master-list.ts'
import {
  attribute,
  attributesOf,
  signerIdOf,
  type SignedDataOptions,
  type SignerOptions,
} from '../cms/test-cms.ts'
import {
  createTestState,
  nameIn,
  newKeys,
  signedByState,
  type StateCertificateOptions,
  USAGE,
} from './test-state.ts'
import { certificate } from './recordings.ts'

const { integer, nothing, octets, sequence, setOf, time } = der

const NOW = Date.parse('2026-11-21T09:30:00.000Z')
const SECOND_MS = 1_000
const DAY_MS = 86_400_000
const MASTER_LIST = '2.23.136.1.1.2'

const { signer, stateWith, signerWith } = createTestState(NOW, { purposes: ['2.23.136.1.1.3'] })
const unrelated = newKeys()
const [COUNTRY, SIGNER] = [stateWith(), signerWith()]
/** What a forger would have on the list. */
const FORGED_STATE = stateWith({ publicKey: unrelated.publicKey, issuerKey: unrelated.privateKey })
const listOf = (...entries: readonly Uint8Array[]) => sequence(integer(0), setOf(...entries))

interface Tampered {
  readonly content?: Buffer
  readonly contentType?: string
  readonly certificate?: Buffer
  readonly data?: Partial<SignedDataOptions>
  readonly signer?: Partial<SignerOptions>
  readonly roots?: readonly Buffer[]
}
const LIST = listOf(COUNTRY)
/** How many certificates are read and how many are not, or the step that rejected. */
const short = ({
  content = LIST,
  contentType = MASTER_LIST,
  certificate: own = SIGNER,
  data,
  signer: options,
  roots = [COUNTRY],
}: Tampered) => {
  const bytes = signedByState({
    contentType,
    content,
    certificate: own,
    key: signer.privateKey,
    data,
    signer: options,
  })
  const list = readMasterList(bytes, { roots: roots.map(certificate), now: NOW })
  return list.ok
    ? `${list.value.certificates.length} read, ${list.value.unreadable} not`
    : list.step
}
const by = (options: Partial<StateCertificateOptions>): Tampered => ({
  certificate: signerWith(options),
})
const signedAt = (at: number): Tampered => ({
  signer: { signedAttributes: [...attributesOf(MASTER_LIST, LIST), attribute('5', time(at))] },
})

const CASES: readonly (readonly [string, Tampered, string])[] = [
  ['one country', {}, '1 read, 0 not'],
  ['one entry that cannot be read', { content: listOf(COUNTRY, sequence()) }, '1 read, 1 not'],
  [
    'a signer without signed attributes',
    { signer: { signedAttributes: undefined } },
    'signed_data',
  ],
  ['the type of a passport’s security object', { contentType: '2.23.136.1.1.1' }, 'content_type'],
  [
    'the attributes of another list',
    {
      content: listOf(FORGED_STATE),
      signer: { signedAttributes: attributesOf(MASTER_LIST, LIST) },
    },
    'message_digest',
  ],
  ['a signature by an unrelated key', { signer: { key: unrelated.privateKey } }, 'signature'],
  ['no certificate', { data: { certificates: [] } }, 'signature'],
  ['a signer that may sign documents only', by({ purposes: undefined }), 'signer_usage'],
  ['a signer with another purpose', by({ purposes: ['2.23.136.1.1.8'] }), 'signer_usage'],
  ['a signer that certifies as well', by({ usage: USAGE.both }), 'signer_usage'],
  ['a signer that enciphers', by({ usage: USAGE.enciphers }), 'signer_usage'],
  [
    'a signer with an unknown critical extension',
    by({ more: [{ id: '1.2.3.4', critical: true, value: nothing() }] }),
    'signer_usage',
  ],
  ['a signer of no root', { roots: [] }, 'signer_unknown'],
  [
    'a signer by another name of the state',
    by({ issuer: nameIn('UT', 'Another state') }),
    'signer_unknown',
  ],
  [
    'a forged signer in the state’s name',
    by({ issuerKey: unrelated.privateKey }),
    'signer_unknown',
  ],
  ['a forged root sent along', { ...forgedRoot() }, 'signer_unknown'],
  [
    'a root that may not issue others',
    { roots: [stateWith({ usage: USAGE.signs })] },
    'signer_unknown',
  ],
  ['a signer that is no longer valid', by({ notAfter: NOW - SECOND_MS }), 'signer_validity'],
  ['a signer that is not valid yet', by({ notBefore: NOW + SECOND_MS }), 'signer_validity'],
  [
    'a signing time when its signer was valid',
    { ...by({ notAfter: NOW - SECOND_MS }), ...signedAt(NOW - DAY_MS) },
    '1 read, 0 not',
  ],
  ['a signing time before its signer was valid', signedAt(NOW - 11 * DAY_MS), 'signer_validity'],
  [
    'a root that was not valid yet when it issued the signer’s',
    { roots: [stateWith({ notBefore: NOW - 9 * DAY_MS })] },
    'signer_validity',
  ],
  [
    'a root that was no longer valid when it issued the signer’s',
    { roots: [stateWith({ notAfter: NOW - 11 * DAY_MS })] },
    'signer_validity',
  ],
  ['content that is no list', { content: octets('x') }, 'content'],
  ['content without a version', { content: sequence(setOf(COUNTRY)) }, 'content'],
  ['a version that is no number', { content: sequence(octets('x'), setOf(COUNTRY)) }, 'content'],
  ['no country', { content: listOf() }, 'content'],
  ['nothing that can be read', { content: listOf(sequence()) }, 'content'],
]

/** A list under the forger’s own state, whose certificate comes along. */
function forgedRoot(): Tampered {
  const own = signerWith({ issuerKey: unrelated.privateKey })
  return {
    certificate: own,
    data: { certificates: [own, FORGED_STATE] },
    signer: { signerId: signerIdOf(own) },
  }
}

for (const [what, tampered, expected] of CASES)
  test(`a master list with ${what}: ${expected}`, () => assert.equal(short(tampered), expected))
