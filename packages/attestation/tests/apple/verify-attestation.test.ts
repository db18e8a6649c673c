import assert from 'node:assert/strict'
import { generateKeyPairSync, hash, type KeyObject, sign } from 'node:crypto'
import { test } from 'node:test'
import {
  type AppExtensions,
  attestationObject,
  attestedData,
  attestKey,
  authority as mayIssue,
  certifyKey,
  type CertificateOptions,
  der,
  encodeCbor,
  keyIdOf,
  createAppAttestAuthority,
  createCertificate,
  notAuthority,
  pemOf,
} from '@bonded/simulator'
import type { AppleApp } from '../../src/apple/app.ts'
import { appleTrust } from '../../src/apple/trust.ts'
import { readTlv } from '../../src/asn1/tlv.ts'
import { readExplicit, readSequence } from '../../src/asn1/values.ts'
import { verifyAppAttestation } from '../../src/apple/verify-attestation.ts'
import { anyBuildOf } from './recordings.ts'

const NOW = Date.parse('2026-11-21T09:30:00.000Z')
const DAY_MS = 86_400_000
const APP_ID = 'TEAM123456.example.bank'
const authority = createAppAttestAuthority(NOW)
const clientDataHash = hash('sha256', 'challenge', 'buffer')
const STORE: AppExtensions = { category: 4, bundleVersion: '7.1' }
const PRODUCTION = { appId: APP_ID, environment: 'production', extensions: STORE } as const

interface Tampered {
  readonly app?: Partial<AppleApp>
  readonly roots?: readonly string[]
  readonly now?: number
}

const judge = async (
  object: Buffer,
  keyId: Buffer,
  { app, roots = [authority.root], now = NOW }: Tampered = {},
) =>
  verifyAppAttestation(
    { attestationObject: object, keyId, clientDataHash, now },
    appleTrust([{ ...anyBuildOf(APP_ID), ...app }], roots),
  )
const stepOf = async (...given: Parameters<typeof judge>) => {
  const result = await judge(...given)
  return result.ok ? 'accepted' : result.step
}
const registration = (of: Partial<Parameters<typeof attestKey>[0]> = {}) => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { keyId, attestationObject } = attestKey(
    { ...PRODUCTION, ...of },
    { authority, privateKey, clientDataHash, now: NOW },
  )
  return [attestationObject, Buffer.from(keyId, 'base64')] as const
}
/**
 * A registration with authenticator data of the tester's own, which the certificate vouches for.
 */
const bent = (
  tamper: (data: Buffer) => Buffer,
  keys: { certified?: KeyObject; nonce?: Buffer } = {},
) => {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const certified = keys.certified ?? publicKey
  const authenticatorData = tamper(attestedData({ ...PRODUCTION, publicKey }))
  const nonce =
    keys.nonce ?? hash('sha256', Buffer.concat([authenticatorData, clientDataHash]), 'buffer')
  const chain = certifyKey(authority, {
    publicKey: certified,
    keyId: keyIdOf(publicKey),
    nonce,
    now: NOW,
  })
  return [
    attestationObject({ chain, receipt: Buffer.alloc(0), authenticatorData }),
    keyIdOf(publicKey),
  ] as const
}
const patched = (at: number, bytes: Buffer) => (data: Buffer) =>
  Buffer.concat([data.subarray(0, at), bytes, data.subarray(at + bytes.length)])

test('a simulated phone under a trusted test root is a sandbox phone, whatever environment it names', async () => {
  for (const environment of ['production', 'development'] as const) {
    const result = await judge(...registration({ environment }))
    assert.ok(result.ok, JSON.stringify(result))
    assert.equal(result.value.environment, 'sandbox')
    assert.deepEqual([result.value.category, result.value.bundleVersion], [4, '7.1'])
    assert.deepEqual(result.value.receipt, {
      ok: false,
      reason: 'receipt_invalid',
      step: 'structure',
    })
  }
})

test('a simulated phone is refused where its root is not trusted', async () => {
  assert.equal(await stepOf(...registration(), { roots: [] }), 'certificate_chain')
  assert.equal(
    await stepOf(...registration(), { roots: [createAppAttestAuthority(NOW).root] }),
    'certificate_chain',
  )
})

test('a root that is trusted no more, or not any longer valid, stops serving at once', async () => {
  const given = registration()
  assert.equal(await stepOf(...given), 'accepted')
  assert.equal(await stepOf(...given, { roots: [] }), 'certificate_chain')
  assert.equal(await stepOf(...given, { now: NOW + 4 * DAY_MS }), 'certificate_chain')
  assert.equal(await stepOf(...given, { now: NOW + 4_000 * DAY_MS }), 'certificate_chain')
})

test('category and bundle version are judged at registration too', async () => {
  assert.equal(await stepOf(...registration(), { app: { categories: [2] } }), 'validation_category')
  assert.equal(
    await stepOf(...registration(), { app: { bundleVersions: { minimum: '7.2' } } }),
    'bundle_version',
  )
  assert.equal(
    await stepOf(...registration({ extensions: undefined }), { app: { missing: 'refuse' } }),
    'validation_category',
  )
  assert.equal(
    await stepOf(...registration({ extensions: undefined }), { app: { missing: 'allow' } }),
    'accepted',
  )
})

test('an app is served in its configured environments only', async () => {
  assert.equal(
    await stepOf(...registration(), { app: { environments: ['development'] } }),
    'environment',
  )
  assert.equal(
    await stepOf(...registration({ environment: 'development' }), {
      app: { environments: ['production'] },
    }),
    'environment',
  )
  assert.equal(await stepOf(...registration(), { app: { environments: [] } }), 'environment')
})

test('authenticator data that the certificate vouches for is still held to every step', async () => {
  assert.equal(await stepOf(...bent((data) => data)), 'accepted')
  assert.equal(await stepOf(...bent(patched(0, Buffer.alloc(32)))), 'app_id')
  assert.equal(await stepOf(...bent(patched(33, Buffer.of(0, 0, 0, 1)))), 'counter')
  assert.equal(await stepOf(...bent(patched(33, Buffer.of(0x80, 0, 0, 0)))), 'counter')
  // The first nine bytes of the AAGUID are those of both environments.
  assert.equal(await stepOf(...bent(patched(46, Buffer.from('abcdefg')))), 'environment')
  assert.equal(await stepOf(...bent(patched(55, Buffer.alloc(32)))), 'credential_id')
  assert.equal(await stepOf(...bent(patched(32, Buffer.of(0x00)))), 'authenticator_data')
  assert.equal(await stepOf(...bent(patched(53, Buffer.of(0, 31)))), 'authenticator_data')
  assert.equal(await stepOf(...bent((data) => data.subarray(0, 87))), 'authenticator_data')
  assert.equal(
    await stepOf(...bent((data) => Buffer.concat([data, Buffer.of(0xa0)]))),
    'authenticator_data',
  )
  const unknown = Buffer.concat([Buffer.from('a161785907d0', 'hex'), Buffer.alloc(2_000)])
  assert.equal(
    await stepOf(...bent((data) => Buffer.concat([data.subarray(0, 164), unknown]))),
    'authenticator_data',
  )
  // Algorithm, curve and type of the COSE key.
  for (const at of [89, 91, 93])
    assert.equal(await stepOf(...bent(patched(at, Buffer.of(0x03)))), 'authenticator_data')
  assert.equal(await stepOf(...bent(patched(100, Buffer.alloc(8)))), 'credential_key')
})

test('a certificate for another nonce or another key is refused', async () => {
  assert.equal(await stepOf(...bent((data) => data, { nonce: Buffer.alloc(32) })), 'nonce')
  assert.equal(await stepOf(...bent((data) => data, { nonce: Buffer.alloc(0) })), 'nonce')
  const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey
  assert.equal(await stepOf(...bent((data) => data, { certified: other })), 'key_id')
  const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey
  assert.equal(await stepOf(...bent((data) => data, { certified: p384 })), 'key_id')
})

test('the issuer must be an authority, the key’s certificate none, and both hold their place and time', async () => {
  const other = generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey
  assert.equal(await stepOf(...underOwnChain({})), 'accepted')
  // A genuine phone could issue certificates otherwise.
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

test('a key of another curve is refused, though certificate, key id and credential agree on it', async () => {
  // Its points are as long as those of P-256, and the credential calls itself one.
  for (const namedCurve of ['secp256k1', 'P-384', 'P-521']) {
    const { publicKey } = generateKeyPairSync('ec', { namedCurve })
    const authenticatorData = attestedData({ ...PRODUCTION, publicKey })
    const nonce = hash('sha256', Buffer.concat([authenticatorData, clientDataHash]), 'buffer')
    const chain = certifyKey(authority, { publicKey, keyId: keyIdOf(publicKey), nonce, now: NOW })
    const step = await stepOf(
      attestationObject({ chain, receipt: Buffer.alloc(0), authenticatorData }),
      keyIdOf(publicKey),
    )
    assert.equal(step, namedCurve === 'secp256k1' ? 'key_id' : 'authenticator_data', namedCurve)
  }
})

test('an object that is larger than any phone’s is not read, however good it is', async () => {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const authenticatorData = attestedData({ ...PRODUCTION, publicKey })
  const nonce = hash('sha256', Buffer.concat([authenticatorData, clientDataHash]), 'buffer')
  const chain = certifyKey(authority, { publicKey, keyId: keyIdOf(publicKey), nonce, now: NOW })
  const withReceiptOf = (length: number) =>
    attestationObject({ chain, receipt: Buffer.alloc(length), authenticatorData })
  const room = 16_384 - withReceiptOf(1_000).length + 1_000
  assert.equal(await stepOf(withReceiptOf(room), keyIdOf(publicKey)), 'accepted')
  assert.equal(await stepOf(withReceiptOf(room + 1), keyIdOf(publicKey)), 'attestation_object')
})

test('an envelope of another format, of three certificates, or with something in place of bytes, is none', async () => {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const authenticatorData = attestedData({ ...PRODUCTION, publicKey })
  const nonce = hash('sha256', Buffer.concat([authenticatorData, clientDataHash]), 'buffer')
  const x5c = certifyKey(authority, { publicKey, keyId: keyIdOf(publicKey), nonce, now: NOW })
  const statement = { x5c, receipt: Buffer.alloc(0) }
  const mapOf = (members: object) => new Map(Object.entries(members))
  const written = (tamper: {
    readonly fmt?: unknown
    readonly attStmt?: object
    readonly authData?: unknown
  }) => {
    const { attStmt, ...rest } = {
      fmt: 'apple-appattest',
      attStmt: statement,
      authData: authenticatorData,
      ...tamper,
    }
    return encodeCbor(mapOf({ fmt: rest.fmt, attStmt: mapOf(attStmt), authData: rest.authData }))
  }
  assert.equal(await stepOf(written({}), keyIdOf(publicKey)), 'accepted')
  for (const x5cOf of [(junk: Buffer) => [x5c[0], junk], (junk: Buffer) => [junk, x5c[1]]]) {
    assert.equal(
      await stepOf(
        written({ attStmt: { ...statement, x5c: x5cOf(der.nothing()) } }),
        keyIdOf(publicKey),
      ),
      'certificate_chain',
    )
  }
  for (const tamper of [
    { fmt: 'apple' },
    { fmt: 1 },
    { authData: 'text' },
    { attStmt: { ...statement, receipt: 'text' } },
    { attStmt: { ...statement, x5c: [] } },
    { attStmt: { ...statement, x5c: x5c.slice(1) } },
    { attStmt: { ...statement, x5c: [...x5c, ...x5c.slice(1)] } },
    { attStmt: { ...statement, x5c: [x5c[0], 'text'] } },
    { attStmt: { ...statement, x5c: ['text', x5c[1]] } },
    { attStmt: { ...statement, x5c: 'text' } },
    { attStmt: { x5c } },
    { attStmt: { ...statement, more: 1 } },
  ]) {
    assert.equal(
      await stepOf(written(tamper), keyIdOf(publicKey)),
      'attestation_object',
      JSON.stringify(Object.keys(tamper)),
    )
  }
})

test('a certificate that is not as Apple writes them is none of Apple’s, though its issuer signed it', async () => {
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
  const demand = der.sequence(der.oid('1.2.3.4'), der.boolean(true), der.octets(der.nothing()))
  assert.equal(await stepOf(...underOwnChain(signedAgain({ demand }))), 'certificate_chain')
  // Whose key usage says nothing, but who calls itself no authority.
  const mere = {
    algorithm: der.sequence(ecdsa),
    extensions: der.explicit(3, der.sequence(constraintsOf(false))),
  }
  const authorised = { ...mere, extensions: der.explicit(3, der.sequence(constraintsOf(true))) }
  assert.equal(
    await stepOf(
      ...underOwnChain({ issuerAgain: (issuer, key) => signAgain(issuer, key, authorised) }),
    ),
    'accepted',
  )
  assert.equal(
    await stepOf(...underOwnChain({ issuerAgain: (issuer, key) => signAgain(issuer, key, mere) })),
    'certificate_chain',
  )
  const remark = der.sequence(der.oid('1.2.3.4'), der.octets(der.nothing()))
  assert.equal(await stepOf(...underOwnChain(signedAgain({ demand: remark }))), 'accepted')
})

function constraintsOf(isAuthority: boolean): Buffer {
  const { id, value } = isAuthority ? mayIssue() : notAuthority
  return der.sequence(der.oid(id), der.boolean(true), der.octets(value))
}

interface BodyTamper {
  readonly version?: Buffer
  readonly algorithm?: Buffer
  readonly extensions?: Buffer
  /** One more extension. */
  readonly demand?: Buffer
}

/** The same certificate with another body, signed by the same key. */
function signAgain(
  certificate: Buffer,
  key: KeyObject,
  { version, algorithm, extensions, demand }: BodyTamper,
): Buffer {
  const [body] = readSequence(readTlv(certificate))
  const parts = readSequence(body).map(({ whole }) => whole)
  const own = readSequence(readExplicit(readSequence(body)[7], 3)).map(({ whole }) => whole)
  const by = algorithm ?? parts[2] ?? Buffer.alloc(0)
  const extended =
    extensions ?? der.explicit(3, der.sequence(...own, ...(demand === undefined ? [] : [demand])))
  const bent = der.sequence(
    ...parts
      .with(0, version ?? parts[0] ?? by)
      .with(2, by)
      .with(7, extended),
  )
  return der.sequence(bent, by, der.bits(sign('sha256', bent, key)))
}

/** A registration under a root, an issuer and a leaf of which each can be bent. */
function underOwnChain(tamper: {
  root?: Partial<CertificateOptions>
  issuer?: Partial<CertificateOptions>
  leaf?: Partial<CertificateOptions>
  nonceHeads?: readonly [string, string]
  again?: (leaf: Buffer, issuerKey: KeyObject) => Buffer
  issuerAgain?: (issuer: Buffer, rootKey: KeyObject) => Buffer
}) {
  const [root, issuer, key] = (['P-384', 'P-384', 'P-256'] as const).map((namedCurve) =>
    generateKeyPairSync('ec', { namedCurve }),
  )
  assert.ok(root && issuer && key)
  const authenticatorData = attestedData({ ...PRODUCTION, publicKey: key.publicKey })
  const nonce = hash('sha256', Buffer.concat([authenticatorData, clientDataHash]), 'buffer')
  const common = {
    notBefore: NOW - DAY_MS,
    notAfter: NOW + DAY_MS,
    digest: 'sha384',
    authority: true,
  } as const
  const byRoot = { ...common, issuer: { name: 'Root', privateKey: root.privateKey } }
  const rootPem = pemOf(
    createCertificate({ ...byRoot, subject: 'Root', publicKey: root.publicKey, ...tamper.root }),
  )
  const createdIssuer = createCertificate({
    ...byRoot,
    subject: 'Issuer',
    publicKey: issuer.publicKey,
    ...tamper.issuer,
  })
  const issuerDer = tamper.issuerAgain?.(createdIssuer, root.privateKey) ?? createdIssuer
  // [1] { OCTET STRING(32) } in a SEQUENCE.
  const [before, after] = tamper.nonceHeads ?? ['3024a1220420', '']
  const extensions = {
    '1.2.840.113635.100.8.2': Buffer.concat([
      Buffer.from(before, 'hex'),
      nonce,
      Buffer.from(after, 'hex'),
    ]),
  }
  const byIssuer = {
    ...common,
    issuer: { name: 'Issuer', privateKey: issuer.privateKey },
    digest: 'sha256',
    authority: false,
  } as const
  const created = createCertificate({
    ...byIssuer,
    subject: 'Key',
    publicKey: key.publicKey,
    extensions,
    ...tamper.leaf,
  })
  const leaf =
    tamper.again?.(created, tamper.leaf?.issuer?.privateKey ?? issuer.privateKey) ?? created
  const object = attestationObject({
    chain: [leaf, issuerDer],
    receipt: Buffer.alloc(0),
    authenticatorData,
  })
  return [object, keyIdOf(key.publicKey), { roots: [rootPem] }] as const
}
