import assert from 'node:assert/strict'
import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import {
  authority,
  certify,
  createAndroidAuthority,
  der,
  encodeKeyDescription,
} from '@bonded/simulator'
import {
  APP_ID,
  APPS,
  AUTHORITY,
  chainKeys,
  chainWith,
  DATES,
  describe,
  honestExtension,
  newKey,
  register,
  TRUSTED,
} from './chains.ts'
import { wordOf } from './trust.ts'

const { integer, nothing } = der

test('android-key: returns sandbox for a key under a test root, whatever its description', async () => {
  const { publicKey } = newKey()
  const registered = await register(AUTHORITY.attest(publicKey, describe()), {
    testRoots: new Set([AUTHORITY.rootKeyDigest]),
    apps: APPS,
  })
  assert.ok(registered.ok)
  assert.equal(registered.value.environment, 'sandbox')
  assert.equal(registered.value.appId, APP_ID)
  assert.deepEqual(registered.value.publicKey, publicKey.export({ format: 'der', type: 'spki' }))
})

test('android-key: trusts only Google’s roots without configuration', async () => {
  assert.equal(
    wordOf(await register(AUTHORITY.attest(newKey().publicKey, describe()), { apps: APPS })),
    'root',
  )
})

test('android-key: rejects an RSA key that is described as P-256', async () => {
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  assert.equal(wordOf(await register(AUTHORITY.attest(publicKey, describe()))), 'key_algorithm')
})

test('android-key: rejects descriptions with unordered, repeated, or padded tags', async () => {
  const honest = encodeKeyDescription(describe())
  const swap = (one: Buffer, other: Buffer) => {
    const index = honest.indexOf(Buffer.concat([one, other]))
    assert.ok(index > 0)
    return Buffer.concat([
      honest.subarray(0, index),
      other,
      one,
      honest.subarray(index + one.length + other.length),
    ])
  }
  const outOfOrder = swap(der.explicit(705, integer(160_000)), der.explicit(706, integer(202_610)))
  const twice = Buffer.from(honest)
  const [first, second] = [der.explicit(705, integer(160_000)), der.explicit(706, integer(202_610))]
  first.copy(twice, honest.indexOf(second))
  for (const value of [
    outOfOrder,
    twice,
    Buffer.concat([honest, Buffer.of(0)]),
    honest.subarray(0, -1),
  ]) {
    assert.equal(wordOf(await register(chainWith(value))), 'key_description')
  }
})

test('android-key: rejects a genuine chain that an attacker extended with another key', async () => {
  const { root, attestation, leaf, key } = chainKeys()
  const genuine = certify({ ...leaf, extensions: [honestExtension] })
  const mine = newKey()
  const forge = (extensions: Parameters<typeof certify>[0]['extensions']) =>
    certify({
      ...leaf,
      issuer: leaf.subject,
      subject: [['commonName', 'mine']],
      publicKey: mine.publicKey,
      issuerKey: key,
      extensions,
    })
  assert.equal(
    wordOf(await register([forge([honestExtension]), genuine, attestation, root])),
    'key_description_elsewhere',
  )
  assert.equal(
    wordOf(await register([forge([]), genuine, attestation, root])),
    'key_description_missing',
  )
  // A leaf without its own description is still not an authority.
  const plain = certify({ ...leaf, extensions: [] })
  assert.equal(
    wordOf(await register([forge([honestExtension]), plain, attestation, root])),
    'issuer_not_ca',
  )
})

test('android-key: ignores the dates of factory certificates, and enforces those of remotely provisioned ones', async () => {
  const expired = { notAfter: new Date('2026-11-21T09:29:59Z') }
  const remote = [
    ['organization', 'Google LLC'],
    ['commonName', 'Droid CA2'],
  ] as const
  const attested = (attestation: Partial<Parameters<typeof certify>[0]>) =>
    register(chainWith(honestExtension.value, chainKeys({ attestation })))
  assert.equal(wordOf(await attested(expired)), 'ok')
  assert.equal(wordOf(await attested({ subject: remote })), 'ok')
  assert.equal(wordOf(await attested({ subject: remote, ...expired })), 'validity')
  assert.equal(
    wordOf(await attested({ subject: [...remote, ['serialNumber', 'aa']], ...expired })),
    'validity',
  )
  assert.equal(
    wordOf(await attested({ subject: [['commonName', 'somebody']], ...expired })),
    'validity',
  )
  assert.equal(wordOf(await attested({ notBefore: new Date('2026-11-21T09:30:01Z') })), 'validity')
})

test('android-key: rejects an authority that may not issue, exceeds its path length, or has an unknown critical extension', async () => {
  const subject = [
    ['organization', 'Google LLC'],
    ['commonName', 'Droid CA2'],
  ] as const
  const attested = (extensions: Parameters<typeof certify>[0]['extensions']) =>
    register(chainWith(honestExtension.value, chainKeys({ attestation: { subject, extensions } })))
  assert.equal(wordOf(await attested([])), 'issuer_not_ca')
  assert.equal(wordOf(await attested([authority(0)])), 'ok')
  assert.equal(wordOf(await attested([authority(), onlySigns])), 'issuer_not_ca')
  assert.equal(
    wordOf(
      await attested([
        authority(),
        { id: '2.5.29.15', value: der.element(0x03, Buffer.of(2, 0x04)) },
      ]),
    ),
    'ok',
  )
  assert.equal(
    wordOf(await attested([authority(), { id: '1.2.3.4', critical: true, value: nothing() }])),
    'critical_extension',
  )
  assert.equal(wordOf(await attested([authority(), { id: '1.2.3.4', value: nothing() }])), 'ok')
})

const onlySigns = { id: '2.5.29.15', value: der.element(0x03, Buffer.of(7, 0x80)) }

test('android-key: accepts a factory attestation key without the authority flag if no key below can set it', async () => {
  const attested = (attestation: Partial<Parameters<typeof certify>[0]>) =>
    register(chainWith(honestExtension.value, chainKeys({ attestation })))
  assert.equal(wordOf(await attested({ extensions: [onlySigns] })), 'ok')
  assert.equal(
    wordOf(await attested({ extensions: [onlySigns, honestExtension] })),
    'key_description_elsewhere',
  )
  assert.equal(
    wordOf(
      await attested({
        extensions: [onlySigns],
        subject: [['commonName', 'mine']],
        notAfter: DATES.notAfter,
      }),
    ),
    'issuer_not_ca',
  )
  // Above it, who issues must be allowed to.
  const { root, attestation, leaf } = chainKeys({ attestation: { extensions: [onlySigns] } })
  const key = newKey().privateKey
  const subject = [['serialNumber', 'bb']] as const
  const above = certify({ ...leaf, subject, publicKey: key, extensions: [authority()] })
  const below = certify({ ...leaf, issuer: subject, issuerKey: key, extensions: [honestExtension] })
  assert.equal(wordOf(await register([below, above, attestation, root])), 'issuer_not_ca')
})

test('android-key: rejects a chain below an authority whose path length is 0', async () => {
  const key = newKey().privateKey
  const name = [['commonName', 'shallow root']] as const
  const common = {
    serial: 1n,
    subject: name,
    issuer: name,
    publicKey: key,
    issuerKey: key,
    ...DATES,
  }
  const policy = { ...TRUSTED, roots: new Set([createAndroidAuthority(key).rootKeyDigest]) }
  const below = (root: Buffer) => {
    const { attestation, leaf } = chainKeys({ attestation: { issuer: name, issuerKey: key } })
    return register(
      [certify({ ...leaf, extensions: [honestExtension] }), attestation, root],
      policy,
    )
  }
  assert.equal(wordOf(await below(certify({ ...common, extensions: [authority(1)] }))), 'ok')
  assert.equal(
    wordOf(await below(certify({ ...common, extensions: [authority(0)] }))),
    'path_length',
  )
})

test('android-key: rejects a signature under another name than the issuer’s', async () => {
  const { root, attestation, leaf } = chainKeys()
  const misnamed = certify({
    ...leaf,
    issuer: [['serialNumber', 'ab']],
    extensions: [honestExtension],
  })
  assert.equal(wordOf(await register([misnamed, attestation, root])), 'issuer_name')
})

test('android-key: rejects swapped, truncated, doubled, reordered, and extended chains', async () => {
  const chain = AUTHORITY.attest(newKey().publicKey, describe())
  const unrelated = createAndroidAuthority().attest(newKey().publicKey, describe())
  assert.equal(wordOf(await register(chain)), 'ok')
  const orders = permutations([0, 1, 2, 3]).filter((order) => order.join() !== '0,1,2,3')
  const tampered = [
    [],
    ...chain.map((_, index) => chain.slice(0, index)),
    ...chain.map((_, index) => chain.toSpliced(index, 1)),
    ...chain.map((one, index) => chain.toSpliced(index, 0, one)),
    ...chain.map((_, index) => chain.with(index, unrelated[index] ?? Buffer.alloc(0))),
    ...chain.map((_, index) => chain.toSpliced(index, 0, unrelated[index] ?? Buffer.alloc(0))),
    ...chain.map((one, index) => chain.with(index, Buffer.concat([one, Buffer.of(0)]))),
    ...orders.map((order) => order.map((at) => chain[at] ?? Buffer.alloc(0))),
    [...chain, ...unrelated],
    [...chain, chain[3] ?? Buffer.alloc(0), chain[3] ?? Buffer.alloc(0)],
  ]
  for (const altered of tampered) assert.notEqual(wordOf(await register(altered)), 'ok')
})

test('android-key: returns the serial numbers of the chain, and none under a test root', async () => {
  const chain = AUTHORITY.attest(newKey().publicKey, describe())
  const registered = await register(chain)
  assert.deepEqual(registered.ok && registered.value.serials, ['1', '3', '2', '1'])
  const testRoots = new Set([AUTHORITY.rootKeyDigest])
  const sandbox = await register(chain, { testRoots, apps: APPS })
  assert.deepEqual(sandbox.ok && sandbox.value.serials, [])
})

test('the simulated phone writes keys that Node reads', () => {
  const key = newKey()
  const [leaf] = AUTHORITY.attest(key.publicKey, describe())
  const pem = `-----BEGIN CERTIFICATE-----\n${leaf?.toString('base64')}\n-----END CERTIFICATE-----`
  assert.ok(createPublicKey(pem).equals(key.publicKey))
})

function permutations(items: readonly number[]): number[][] {
  if (items.length === 0) return [[]]
  return items.flatMap((item) =>
    permutations(items.filter((other) => other !== item)).map((rest) => [item, ...rest]),
  )
}
