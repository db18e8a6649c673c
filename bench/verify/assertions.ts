import {
  createPublicKey,
  generateKeyPairSync,
  hash,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto'
import { type AppAttest, type DeviceFormat, makeId } from '@bonded/contract'
import { createAppAssertion, keyIdOf } from '@bonded/simulator'
import { appAssertionVerifier } from '../../packages/server/src/adapters/attestation/app-assertion-verifier.ts'
import type { AppleApp } from '@bonded/attestation/apple'
import { appleVerifier } from '../../packages/server/src/adapters/attestation/apple/assertion-verifier.ts'
import type { Device } from '../../packages/core/src/domain/session.ts'
import type { AssertionVerifier } from '../../packages/core/src/ports/devices.ts'
import { androidKey, asTestRoots, webauthnKey } from '../../tests/harness/attested-phones.ts'
import { type AttestedKey, authenticatorData } from '../../tests/harness/phone.ts'
import { TestClock } from '../../tests/harness/test-clock.ts'
import { registerWith } from './registrations.ts'

/** An assertion to verify, and the bare signature verification inside it. */
export interface AssertionRow {
  readonly name: string
  readonly verifyAll: () => boolean
  readonly verifyBare: () => boolean
  /** The highest permitted ratio; undefined when the row has no target. */
  readonly limit: number | undefined
}

const TARGET_RATIO = 1.35
const PAYLOAD = JSON.stringify({ typ: 'bonded-assertion/v1', filled: 'x'.repeat(600) })
const CLIENT_DATA_HASH = hash('sha256', PAYLOAD, 'buffer')
const APP: AppleApp = {
  appId: 'TEAM123456.example.bank',
  environments: ['production'],
  categories: [4],
  missing: 'allow',
  bundleVersions: { minimum: '7' },
}

/** One for each format, and both of Apple's forms. */
export async function assertionRows(): Promise<readonly AssertionRow[]> {
  return [
    appleRow('apple-app-attest, up to iOS 26', undefined),
    appleRow('apple-app-attest, iOS 27', { category: 4, bundleVersion: '7.1' }),
    await attestedRow(androidKey(), TARGET_RATIO),
    await attestedRow(webauthnKey(), undefined),
    softwareRow(),
  ]
}

function appleRow(
  name: string,
  extensions: { category: number; bundleVersion: string } | undefined,
): AssertionRow {
  const { privateKey, publicKey } = newPair()
  const asserted = createAppAssertion(
    { appId: APP.appId, extensions },
    { privateKey, counter: 1, clientDataHash: CLIENT_DATA_HASH },
  )
  const device = deviceOf({
    format: 'apple-app-attest',
    appId: APP.appId,
    keyId: keyIdOf(publicKey).toString('base64url'),
    publicKey,
  })
  const signed = hash(
    'sha256',
    Buffer.concat([asserted.authenticatorData, CLIENT_DATA_HASH]),
    'buffer',
  )
  return rowOf(name, {
    verifier: appleVerifier([APP]),
    device,
    assertion: written(device, asserted),
    signed,
    limit: TARGET_RATIO,
  })
}

/**
 * A key with an attestation registers like a phone's, so that its device is stored like a phone's.
 */
async function attestedRow(key: AttestedKey, limit: number | undefined): Promise<AssertionRow> {
  const { assertionVerifiers, attestationVerifiers } = asTestRoots(new TestClock())
  const registered = await registerWith(attestationVerifiers, key)
  const publicKey = createPublicKey({
    key: Buffer.from(registered.publicKey),
    format: 'der',
    type: 'spki',
  })
  const { keyId, appId, webauthn } = registered
  const device = deviceOf({
    format: key.format,
    appId,
    keyId,
    publicKey,
    ...(webauthn && { webauthn }),
  })
  const assertion = { key_id: keyId, ...key.assert(PAYLOAD, { counter: 1 }) }
  const signed = Buffer.concat(
    [assertion.authenticator_data, assertion.client_data_hash].map((text) =>
      Buffer.from(text, 'base64url'),
    ),
  )
  return rowOf(key.format, {
    verifier: assertionVerifiers[key.format],
    device,
    assertion,
    signed,
    limit,
  })
}

/** A key without hardware: it shows the cost of the format. */
function softwareRow(): AssertionRow {
  const { privateKey, publicKey } = newPair()
  const keyId = hash('sha256', publicKey.export({ format: 'der', type: 'spki' }), 'base64url')
  const device = deviceOf({ format: 'software', appId: 'software', keyId, publicKey })
  const data = authenticatorData(1, device.appId)
  const signed = Buffer.concat([data, CLIENT_DATA_HASH])
  const assertion = written(device, {
    authenticatorData: data,
    signature: sign('sha256', signed, privateKey),
  })
  return rowOf('software', {
    verifier: appAssertionVerifier,
    device,
    assertion,
    signed,
    limit: undefined,
  })
}

interface RowParts {
  readonly verifier: AssertionVerifier
  readonly device: Device
  readonly assertion: AppAttest
  /** The bytes that the format's signature covers. */
  readonly signed: Buffer
  readonly limit: number | undefined
}

function rowOf(
  name: string,
  { verifier, device, assertion, signed, limit }: RowParts,
): AssertionRow {
  const key = createPublicKey({ key: Buffer.from(device.publicKey), format: 'der', type: 'spki' })
  const signature = Buffer.from(assertion.signature, 'base64url')
  return {
    name,
    verifyAll: () => verifier.verify({ device, payload: PAYLOAD, appAttest: assertion }).ok,
    verifyBare: () => verify('sha256', signed, key, signature),
    limit,
  }
}

function written(
  { keyId }: Device,
  asserted: { authenticatorData: Buffer; signature: Buffer },
): AppAttest {
  return {
    key_id: keyId,
    client_data_hash: CLIENT_DATA_HASH.toString('base64url'),
    authenticator_data: asserted.authenticatorData.toString('base64url'),
    signature: asserted.signature.toString('base64url'),
  }
}

interface KeyFacts extends Pick<Device, 'appId' | 'keyId' | 'webauthn'> {
  readonly format: DeviceFormat
  readonly publicKey: KeyObject
}

function deviceOf({ publicKey, ...facts }: KeyFacts): Device {
  return {
    ...facts,
    id: makeId('dev', Buffer.alloc(16)),
    subjectId: makeId('sub', Buffer.alloc(16)),
    publicKey: publicKey.export({ format: 'der', type: 'spki' }),
    environment: 'production',
    status: 'active',
    counter: 0,
    lastIssuedAt: null,
    createdAt: 0,
  }
}

function newPair() {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' })
}
