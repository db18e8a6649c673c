import assert from 'node:assert/strict'
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { test } from 'node:test'
import { der, createAppAttestAuthority } from '@bonded/simulator'
import {
  NOW,
  DAY_MS,
  stepOf,
  registration,
  constraintsOf,
  type BodyTamper,
  signAgain,
  underOwnChain,
} from './app-registrations.ts'

test('rejects a simulated phone under an untrusted root', async () => {
  assert.equal(await stepOf(...registration(), { roots: [] }), 'certificate_chain')
  assert.equal(
    await stepOf(...registration(), { roots: [createAppAttestAuthority(NOW).root] }),
    'certificate_chain',
  )
})

test('rejects a chain as soon as its root is removed or expires, despite the cache', async () => {
  const given = registration()
  assert.equal(await stepOf(...given), 'accepted')
  assert.equal(await stepOf(...given, { roots: [] }), 'certificate_chain')
  assert.equal(await stepOf(...given, { now: NOW + 4 * DAY_MS }), 'certificate_chain')
  assert.equal(await stepOf(...given, { now: NOW + 4_000 * DAY_MS }), 'certificate_chain')
})

test('rejects a chain with a wrong role, validity, name, signature or nonce extension', async () => {
  const other = generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey
  assert.equal(await stepOf(...underOwnChain({})), 'accepted')
  // Otherwise a genuine phone could issue certificates.
  assert.equal(
    await stepOf(...underOwnChain({ issuer: { authority: false } })),
    'certificate_chain',
  )
  assert.equal(await stepOf(...underOwnChain({ leaf: { authority: true } })), 'certificate_chain')
  assert.equal(
    await stepOf(...underOwnChain({ issuer: { notAfter: NOW - 1_000 } })),
    'certificate_chain',
  )
  assert.equal(
    await stepOf(...underOwnChain({ root: { notAfter: NOW - 1_000 } })),
    'certificate_chain',
  )
  assert.equal(
    await stepOf(...underOwnChain({ root: { notBefore: NOW + 1_000 } })),
    'certificate_chain',
  )
  assert.equal(
    await stepOf(...underOwnChain({ root: { subject: 'Another root' } })),
    'certificate_chain',
  )
  assert.equal(
    await stepOf(...underOwnChain({ leaf: { notBefore: NOW + 1_000 } })),
    'certificate_chain',
  )
  assert.equal(
    await stepOf(...underOwnChain({ issuer: { subject: 'Another CA' } })),
    'certificate_chain',
  )
  assert.equal(
    await stepOf(...underOwnChain({ leaf: { issuer: { name: 'Issuer', privateKey: other } } })),
    'certificate_chain',
  )
  assert.equal(
    await stepOf(...underOwnChain({ issuer: { issuer: { name: 'Root', privateKey: other } } })),
    'certificate_chain',
  )
  assert.equal(await stepOf(...underOwnChain({ leaf: { extensions: {} } })), 'nonce')
  assert.equal(await stepOf(...underOwnChain({ nonceHeads: ['3026a1220420', '0500'] })), 'nonce')
  assert.equal(await stepOf(...underOwnChain({ nonceHeads: ['3026a1240420', '0500'] })), 'nonce')
  assert.equal(await stepOf(...underOwnChain({ nonceHeads: ['3024a0220420', ''] })), 'nonce')
})

test('rejects a certificate that the issuer signed in another form than Apple’s', async () => {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const rsa = { issuer: { publicKey }, leaf: { issuer: { name: 'Issuer', privateKey } } }
  const [ecdsa, pkcs1] = ['1.2.840.10045.4.3.2', '1.2.840.113549.1.1.11'].map(der.oid)
  assert.ok(ecdsa && pkcs1)
  const signedAgain = (tamper: BodyTamper) => ({
    again: (leaf: Buffer, key: KeyObject) => signAgain(leaf, key, tamper),
  })
  assert.equal(await stepOf(...underOwnChain(signedAgain({}))), 'accepted')
  assert.equal(
    await stepOf(...underOwnChain(signedAgain({ algorithm: der.sequence(ecdsa, der.nothing()) }))),
    'certificate_chain',
  )
  assert.equal(
    await stepOf(...underOwnChain({ ...rsa, ...signedAgain({ algorithm: der.sequence(pkcs1) }) })),
    'certificate_chain',
  )
  assert.equal(
    await stepOf(
      ...underOwnChain({
        ...rsa,
        ...signedAgain({ algorithm: der.sequence(pkcs1, der.nothing()) }),
      }),
    ),
    'certificate_chain',
  )
  assert.equal(
    await stepOf(...underOwnChain(signedAgain({ version: der.explicit(0, der.integer(1)) }))),
    'certificate_chain',
  )
  assert.equal(
    await stepOf(...underOwnChain(signedAgain({ extensions: Buffer.alloc(0) }))),
    'nonce',
  )
  const critical = der.sequence(der.oid('1.2.3.4'), der.boolean(true), der.octets(der.nothing()))
  assert.equal(
    await stepOf(...underOwnChain(signedAgain({ extension: critical }))),
    'certificate_chain',
  )
  // An issuer without key usage, whose basic constraints deny that it is an authority.
  const withoutAuthority = {
    algorithm: der.sequence(ecdsa),
    extensions: der.explicit(3, der.sequence(constraintsOf(false))),
  }
  const withAuthority = {
    ...withoutAuthority,
    extensions: der.explicit(3, der.sequence(constraintsOf(true))),
  }
  assert.equal(
    await stepOf(
      ...underOwnChain({ issuerAgain: (issuer, key) => signAgain(issuer, key, withAuthority) }),
    ),
    'accepted',
  )
  assert.equal(
    await stepOf(
      ...underOwnChain({ issuerAgain: (issuer, key) => signAgain(issuer, key, withoutAuthority) }),
    ),
    'certificate_chain',
  )
  const uncritical = der.sequence(der.oid('1.2.3.4'), der.octets(der.nothing()))
  assert.equal(await stepOf(...underOwnChain(signedAgain({ extension: uncritical }))), 'accepted')
})
