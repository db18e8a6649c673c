import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  authority,
  certify,
  createAndroidAuthority,
  der,
  encodeKeyDescription,
} from '@bonded/simulator'
import { verifyAndroidChain } from '../../src/android/certificate-chain.ts'
import { readTlv } from '../../src/asn1/tlv.ts'
import { readSequence } from '../../src/asn1/values.ts'
import {
  chainKeys,
  chainWith,
  DATES,
  describe,
  honestExtension,
  newKey,
  NOW,
  register,
} from './chains.ts'
import { wordOf } from './trust.ts'

/** A description in which a test can change each part. */
function tamperedDescription(tamper: (parts: readonly Buffer[]) => readonly Uint8Array[]): Buffer {
  const parts = readSequence(readTlv(encodeKeyDescription(describe()))).map(({ whole }) => whole)
  return der.sequence(...tamper(parts))
}

test('android-key: rejects a description with extra or missing members, or a level below software', async () => {
  const level = der.element(0x0a, Buffer.of(0xff))
  assert.equal(wordOf(await register(chainWith(tamperedDescription((parts) => parts)))), 'ok')
  assert.equal(
    wordOf(await register(chainWith(tamperedDescription((parts) => [...parts, der.nothing()])))),
    'key_description',
  )
  assert.equal(
    wordOf(await register(chainWith(tamperedDescription((parts) => parts.slice(0, -1))))),
    'key_description',
  )
  // The hardware's list would decide about the key of such a level, although no statement names any
  // hardware.
  assert.equal(
    wordOf(
      await register(
        chainWith(tamperedDescription((parts) => parts.with(1, level).with(3, level))),
      ),
    ),
    'security_level',
  )
})

test('android-key: accepts a chain of three to seven certificates, and rejects two and eight', () => {
  const rootKey = newKey().privateKey
  const roots = new Set([createAndroidAuthority(rootKey).rootKeyDigest])
  const nameOf = (at: number) => [['commonName', `authority ${at}`]] as const
  const verdictOf = (length: number) => {
    const keys = [rootKey, ...Array.from({ length: length - 1 }, () => newKey().privateKey)]
    const chain = keys.map((publicKey, index) => {
      const issuerAt = Math.max(0, index - 1)
      const extensions = index > 0 && index === length - 1 ? [honestExtension] : [authority()]
      const common = {
        serial: BigInt(index + 1),
        subject: nameOf(index),
        issuer: nameOf(issuerAt),
        ...DATES,
        extensions,
      }
      return certify({ ...common, publicKey, issuerKey: keys[issuerAt] ?? rootKey })
    })
    return wordOf(verifyAndroidChain(chain.toReversed(), { roots, now: NOW }))
  }
  assert.deepEqual([3, 4, 7].map(verdictOf), ['ok', 'ok', 'ok'])
  assert.deepEqual([1, 2, 8].map(verdictOf), ['chain_length', 'chain_length', 'chain_length'])
  assert.equal(wordOf(verifyAndroidChain([], { roots, now: NOW })), 'chain_length')
})

test('android-key: verifies dates and rights of both intermediate authorities, in either order', async () => {
  const past = { notAfter: new Date('2026-11-21T09:29:59Z') }
  const now = { notBefore: new Date(NOW) }
  const onlySigns = { extensions: [{ id: '2.5.29.15', value: der.bits(Buffer.of(0x80), 7) }] }
  for (const [what, above, below, verdict] of [
    ['both in time', {}, {}, 'ok'],
    ['both from this instant on', now, now, 'ok'],
    ['the lower one past', {}, past, 'validity'],
    ['the upper one past', past, {}, 'validity'],
    // An attacker cannot make the lower one an authority only if the upper one is from the factory,
    // too.
    ['the lower one a mere key', {}, onlySigns, 'issuer_not_ca'],
  ] as const) {
    assert.equal(wordOf(await register(remoteChain(above, below))), verdict, what)
  }
})

type Tamper = Partial<Parameters<typeof certify>[0]>

/**
 * A chain provisioned remotely: the upper authority is Google's, the lower one has a serial number
 * for its name.
 */
function remoteChain(above: Tamper, below: Tamper): Buffer[] {
  const upperName = [
    ['organization', 'Google LLC'],
    ['commonName', 'Droid CA2'],
  ] as const
  const { root, attestation, leaf, key } = chainKeys({
    attestation: { subject: upperName, ...above },
  })
  const lowerName = [['serialNumber', 'bb']] as const
  const lower = certify({ ...leaf, subject: lowerName, extensions: [authority()], ...below })
  const certified = certify({
    ...leaf,
    publicKey: newKey().publicKey,
    issuer: lowerName,
    issuerKey: key,
    extensions: [honestExtension],
  })
  return [certified, lower, attestation, root]
}
