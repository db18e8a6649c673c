import assert from 'node:assert/strict'
import { createPublicKey, generateKeyPairSync, hash, sign } from 'node:crypto'
import { test } from 'node:test'
import { type AppExtensions, createAppAssertion } from '@bonded/simulator'
import { vectorsMissing } from '../../../contract/tests/vectors.ts'
import type { AppleApp } from '../../src/apple/app.ts'
import { verifyAppAssertion } from '../../src/apple/verify-assertion.ts'
import { anyBuildOf, assertions, type RecordedAssertion } from './recordings.ts'
import { flipBit } from '../harness/flip-bit.ts'

const skip = vectorsMissing
const APP_ID = 'TEAM123456.example.bank'
const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const clientDataHash = hash('sha256', 'payload', 'buffer')
const STORE: AppExtensions = { category: 4, bundleVersion: '7.1' }

/** One line a recording: the counter it states. */
const VERDICTS: readonly (readonly [string, number])[] = [
  ['veehaitch-ios-14.2', 1],
  ['veehaitch-ios-14.3-beta-3', 1],
  ['veehaitch-ios-14.3', 1],
  ['veehaitch-ios-14.4-beta-2', 1],
  ['node-app-attest-assertion', 1],
]

const verdictOf = (
  facts: RecordedAssertion,
  change: Partial<RecordedAssertion> = {},
  app = anyBuildOf(facts.appId),
) => {
  const all = { ...facts, ...change }
  const result = verifyAppAssertion({ ...all, publicKey: createPublicKey(all.publicKeyPem) }, app)
  return result.ok ? `counter ${result.value.counter}` : result.step
}
/** An assertion of a simulated phone, judged by what an operator says of the app. */
const judge = (extensions: AppExtensions | undefined, app: Partial<AppleApp> = {}) => {
  const asserted = createAppAssertion(
    { appId: APP_ID, extensions },
    { privateKey, counter: 5, clientDataHash },
  )
  const result = verifyAppAssertion(
    { ...asserted, clientDataHash, publicKey },
    { ...anyBuildOf(APP_ID), ...app },
  )
  return result.ok ? 'accepted' : result.step
}

/** The assertions of two simulated phones, and those that real phones sent. */
const all = [simulated('before iOS 27', undefined), simulated('of a store', STORE), ...assertions]

for (const [name, counter] of VERDICTS) {
  test(`recorded: ${name} verifies, with counter ${counter}`, { skip }, () => {
    const recorded = assertions.find((one) => one.name === name)
    assert.ok(recorded, 'the recording is gone')
    assert.equal(verdictOf(recorded), `counter ${counter}`)
  })
}

test('verifies every recording and returns its counter', { skip }, () => {
  for (const recorded of assertions)
    assert.equal(verdictOf(recorded), `counter ${recorded.counter}`, recorded.name)
})

test('rejects another key, app, or payload, each at its own step', () => {
  for (const recorded of all) {
    const other = all.find(({ publicKeyPem }) => publicKeyPem !== recorded.publicKeyPem)
    assert.ok(other)
    assert.equal(verdictOf(recorded, { publicKeyPem: other.publicKeyPem }), 'signature')
    assert.equal(verdictOf(recorded, { clientDataHash }), 'signature')
    assert.equal(verdictOf(recorded, { signature: other.signature }), 'signature')
    const otherApp = anyBuildOf(`${recorded.appId}2`)
    assert.equal(verdictOf(recorded, {}, otherApp), 'app_id')
    // Only the key's owner learns that the app is another one.
    assert.equal(verdictOf(recorded, { signature: other.signature }, otherApp), 'signature')
  }
})

test('rejects any flipped bit in authenticator data, signature, or payload hash', () => {
  for (const recorded of all) {
    for (const part of ['authenticatorData', 'signature', 'clientDataHash'] as const) {
      for (let bit = 0; bit < recorded[part].length * 8; bit++) {
        const verdict = verdictOf(recorded, { [part]: flipBit(recorded[part], bit) })
        assert.ok(!verdict?.startsWith('counter'), `bit ${bit} of ${part} of ${recorded.name}`)
      }
    }
  }
})

test('rejects truncated, extended, doubled, and swapped members', () => {
  for (const recorded of all) {
    const { authenticatorData, signature } = recorded
    for (const change of [
      ...[...authenticatorData.keys()].map((length) => ({
        authenticatorData: authenticatorData.subarray(0, length),
      })),
      ...[...signature.keys()].map((length) => ({ signature: signature.subarray(0, length) })),
      { authenticatorData: Buffer.concat([authenticatorData, Buffer.of(0xa0)]) },
      { authenticatorData: Buffer.concat([authenticatorData, authenticatorData]) },
      { authenticatorData: Buffer.alloc(70_000) },
      { signature: Buffer.concat([signature, Buffer.of(0)]) },
      { signature: Buffer.concat([signature, signature]) },
      { authenticatorData: signature, signature: authenticatorData },
    ]) {
      assert.ok(!verdictOf(recorded, change)?.startsWith('counter'))
    }
  }
})

test('reads the counter as an unsigned 32-bit integer', () => {
  for (const counter of [0, 1, 2 ** 31, 2 ** 32 - 1]) {
    const asserted = createAppAssertion(
      { appId: APP_ID, extensions: undefined },
      { privateKey, counter, clientDataHash },
    )
    assert.deepEqual(
      verifyAppAssertion({ ...asserted, clientDataHash, publicKey }, anyBuildOf(APP_ID)),
      {
        ok: true,
        value: { counter, category: undefined, bundleVersion: undefined },
      },
    )
  }
})

test('rejects an app category outside the policy; before iOS 27, the setting decides', () => {
  for (const category of [1, 2, 3, 4, 5, 6, 7, 10, 2 ** 32 - 1]) {
    assert.equal(
      judge({ ...STORE, category }, { categories: [4] }),
      category === 4 ? 'accepted' : 'validation_category',
    )
  }
  assert.equal(judge(undefined, { categories: [4], missing: 'allow' }), 'accepted')
  assert.equal(judge(undefined, { categories: [4], missing: 'refuse' }), 'validation_category')
  assert.equal(judge(STORE, { categories: [] }), 'validation_category')
})

test('accepts builds of the app by list or from a minimum version', () => {
  const judged = (bundleVersion: string, bundleVersions: AppleApp['bundleVersions']) =>
    judge({ category: 4, bundleVersion }, { bundleVersions })
  assert.equal(judged('7.1', { listed: ['7', '7.1'] }), 'accepted')
  assert.equal(judged('7.1.0', { listed: ['7', '7.1'] }), 'bundle_version')
  for (const version of ['7.1', '7.1.0', '7.1.1', '7.2', '7.10', '8', '10'])
    assert.equal(judged(version, { minimum: '7.1' }), 'accepted', version)
  for (const version of ['7', '7.0.9', '6.9', '1', '', 'x', '7.1b', '7.1.0.1', '-8', ' 8', '٨']) {
    assert.equal(judged(version, { minimum: '7.1' }), 'bundle_version', version)
  }
  assert.equal(judged('8', { minimum: 'seven' }), 'bundle_version')
  assert.equal(judge(undefined, { bundleVersions: { minimum: '1' }, missing: 'allow' }), 'accepted')
  assert.equal(
    judge(undefined, { bundleVersions: { minimum: '1' }, categories: [], missing: 'refuse' }),
    'validation_category',
  )
})

test('finds the map of iOS 27 at its position, whatever the flags', () => {
  const { authenticatorData } = createAppAssertion(
    { appId: APP_ID, extensions: STORE },
    { privateKey, counter: 1, clientDataHash },
  )
  for (const flags of [0x00, 0x40, 0x80, 0xc0, 0xff]) {
    const tampered = Buffer.from(authenticatorData)
    tampered[32] = flags
    assert.deepEqual(signed(tampered), { ok: true, value: { counter: 1, ...STORE } })
  }
})

test('rejects anything after the header except one map with Apple’s members', () => {
  const header = createAppAssertion(
    { appId: APP_ID, extensions: undefined },
    { privateKey, counter: 1, clientDataHash },
  ).authenticatorData
  const category = (value: string) =>
    `a1781c${Buffer.from('apple_validation_category_01').toString('hex')}${value}`
  const bundle = (value: string) =>
    `a177${Buffer.from('apple_bundle_version_01').toString('hex')}${value}`
  const read = (hex: string) => {
    const result = signed(Buffer.concat([header, Buffer.from(hex, 'hex')]))
    return result.ok ? result.value : result.step
  }
  const nothing = { counter: 1, category: undefined, bundleVersion: undefined }
  assert.deepEqual(read('a0'), nothing)
  assert.deepEqual(read('a1617801'), nothing)
  assert.deepEqual(read(category('4404000000')), { ...nothing, category: 4 })
  assert.deepEqual(read(category('4400000004')), { ...nothing, category: 0x04000000 })
  assert.deepEqual(read(category('04')), { ...nothing, category: 4 })
  assert.deepEqual(read(category('1affffffff')), { ...nothing, category: 0xffffffff })
  assert.deepEqual(read(bundle('6131')), { ...nothing, bundleVersion: '1' })
  for (const wrong of [
    '00',
    '80',
    '40',
    'f6',
    'ff',
    'a0a0',
    'a000',
    'a1',
    'bfff',
    'a2617801617802',
    `a1617880${'81'.repeat(900)}`,
    ...['43040000', '450400000000', '20', '1b0000000100000000', '6134', 'f6', '1804'].map(category),
    ...['01', '4131', 'f6', `7881${'31'.repeat(129)}`].map(bundle),
  ]) {
    assert.equal(read(wrong), 'authenticator_data', wrong)
  }
})

test('accepts unknown extension members of any CBOR type, within size and depth limits', () => {
  const header = createAppAssertion(
    { appId: APP_ID, extensions: undefined },
    { privateKey, counter: 1, clientDataHash },
  ).authenticatorData
  const text = (value: string) =>
    Buffer.concat([Buffer.of(0x60 + value.length), Buffer.from(value)]).toString('hex')
  const known = `${text('apple_bundle_version_01')}6131`
  const read = (...members: string[]) => {
    const map = (0xa0 + members.length).toString(16) + members.join('')
    const result = signed(Buffer.concat([header, Buffer.from(map, 'hex')]))
    return result.ok ? result.value.bundleVersion : result.step
  }
  for (const unknown of [
    '0101', // integer key
    '2001', // negative integer key
    '430102036161', // byte string key
    'f93c0001', // float key
    'c10001', // tagged key
    '6178f93c00', // half-precision float
    '6178fa3fc00000', // single-precision float
    '6178fb3ff8000000000000', // double-precision float
    '6178c11a65000000', // tagged integer
    '6178d9d9f7a0', // tagged map
    '6178f7', // undefined
    '6178f8ff', // simple value 255
    '61781bffffffffffffffff', // 64-bit integer
    '6178c2490100000000000000ff', // big number
    '61785f42010243030405ff', // byte string of indefinite length
    '61787f61616162ff', // text of indefinite length
    '61789f01820203ff', // list of indefinite length
    '6178bf6161016162f4ff', // map of indefinite length
    '61781801', // an integer that is longer than needed
    `6178${'81'.repeat(12)}00`, // nested, within the limit
  ]) {
    assert.equal(read(known, unknown), '1', unknown)
    assert.equal(read(unknown, known), '1', unknown)
  }
  for (const rejected of [
    `6178${'81'.repeat(40)}00`, // nested too deep
    `6178${'c1'.repeat(40)}00`, // tags nested too deep
    '6178', // no value
    '6178ff', // a break outside an indefinite length
    '6178f800', // a simple value below 32 in two bytes
    '61781c', // a reserved length
    '61789b00ffffffffffffff', // a list longer than memory
    '61785b00ffffffffffffff', // bytes longer than memory
    '61785f6161ff', // text as a piece of bytes
    '61789f01', // an indefinite length without its end
    '0101ff', // a byte after the value
    known, // the same member twice
    `${text('apple_bundle_version_01')}f93c00`, // and with another value
  ])
    assert.equal(read(known, rejected), 'authenticator_data', rejected)
  // A known name with a longer head is not another member.
  const reencoded = `7817${Buffer.from('apple_bundle_version_01').toString('hex')}6131`
  assert.equal(read(reencoded), 'authenticator_data')
})

test('rejects an assertion that is too long or too short', () => {
  const stepOf = (change: { readonly authenticatorData?: Buffer; readonly signature?: Buffer }) => {
    const asserted = createAppAssertion(
      { appId: APP_ID, extensions: STORE },
      { privateKey, counter: 5, clientDataHash },
    )
    const result = verifyAppAssertion(
      { ...asserted, ...change, clientDataHash, publicKey },
      anyBuildOf(APP_ID),
    )
    return result.ok ? 'accepted' : result.step
  }
  // One member that means nothing, as long as it takes: { "x": bytes }.
  const header = createAppAssertion(
    { appId: APP_ID, extensions: undefined },
    { privateKey, counter: 1, clientDataHash },
  ).authenticatorData
  const ofLength = (length: number) => {
    const padding = length - header.length - 6
    return Buffer.concat([
      header,
      Buffer.from('a1617859', 'hex'),
      Buffer.of(padding >> 8, padding & 0xff),
      Buffer.alloc(padding),
    ])
  }
  const signedOf = (authenticatorData: Buffer) => ({
    authenticatorData,
    signature: signNonce(authenticatorData),
  })
  assert.equal(stepOf(signedOf(ofLength(1_024))), 'accepted')
  assert.equal(stepOf(signedOf(ofLength(1_025))), 'encoding')
  for (const [length, step] of [
    [0, 'encoding'],
    [7, 'encoding'],
    [8, 'signature'],
    [72, 'signature'],
    [73, 'encoding'],
  ] as const)
    assert.equal(stepOf({ signature: Buffer.alloc(length, 0x30) }), step, `${length} bytes`)
})

test('rejects an assertion by a key that Node cannot verify with', () => {
  const { publicKey: unfit } = generateKeyPairSync('x25519')
  const asserted = createAppAssertion(
    { appId: APP_ID, extensions: STORE },
    { privateKey, counter: 5, clientDataHash },
  )
  const result = verifyAppAssertion(
    { ...asserted, clientDataHash, publicKey: unfit },
    anyBuildOf(APP_ID),
  )
  assert.equal(result.ok ? 'accepted' : result.step, 'signature')
})

/** Signs any authenticator data with the phone's key, and judges it. */
function signed(authenticatorData: Buffer) {
  const signature = signNonce(authenticatorData)
  const app = { ...anyBuildOf(APP_ID), categories: [4, 0x04000000, 0xffffffff] }
  return verifyAppAssertion({ authenticatorData, signature, clientDataHash, publicKey }, app)
}

function signNonce(authenticatorData: Buffer): Buffer {
  return sign(
    'sha256',
    hash('sha256', Buffer.concat([authenticatorData, clientDataHash]), 'buffer'),
    privateKey,
  )
}

function simulated(name: string, extensions: AppExtensions | undefined): RecordedAssertion {
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const signed = hash('sha256', name, 'buffer')
  const of = { privateKey: pair.privateKey, counter: 1, clientDataHash: signed }
  return {
    ...createAppAssertion({ appId: APP_ID, extensions }, of),
    name,
    appId: APP_ID,
    publicKeyPem: pair.publicKey.export({ format: 'pem', type: 'spki' }).toString(),
    clientDataHash: signed,
    counter: 1,
    extended: extensions !== undefined,
  }
}
