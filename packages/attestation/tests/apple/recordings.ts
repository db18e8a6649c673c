import { createPublicKey, hash } from 'node:crypto'
import { readVector, vectorsMissing } from '../../../contract/tests/vectors.ts'
import type { AppleApp, AppleEnvironment } from '../../src/apple/app.ts'
import { appleTrust } from '../../src/apple/trust.ts'
import { bytesOf, decodeCbor, membersOf } from '../../src/cbor/strict-cbor.ts'

/** What real phones sent, beside the repository; none where the folder is missing. */
export interface RecordedAssertion {
  readonly name: string
  readonly appId: string
  readonly publicKeyPem: string
  readonly clientDataHash: Buffer
  readonly authenticatorData: Buffer
  readonly signature: Buffer
  readonly counter: number
  readonly extended: boolean
}

export interface RecordedAttestation {
  readonly name: string
  readonly appId: string
  readonly environment: AppleEnvironment
  readonly keyId: Buffer
  readonly now: number
  readonly attestationObject: Buffer
  readonly clientDataHash: Buffer
  readonly publicKeyPem: string
  readonly extended: boolean
}

interface Written {
  readonly name: string
  readonly teamId: string
  readonly bundleId: string
  readonly publicKeyPem: string
  readonly assertion: {
    cbor: string
    clientData: string
    counter: number
    extensions: object | null
    clientDataHashMode?: string
  } | null
}
interface WrittenAttestation extends Written {
  readonly environment: AppleEnvironment
  readonly keyId: string
  readonly verifyAt: string
  readonly attestation: string
  readonly challenge: string
  readonly clientDataHashMode: string
  readonly extensions: object | null
}

const file: { vectors: WrittenAttestation[]; standaloneAssertions: Written[] } = vectorsMissing
  ? { vectors: [], standaloneAssertions: [] }
  : JSON.parse(readVector('app-attest', 'vectors.json').toString('utf8'))

export const attestations: readonly RecordedAttestation[] = file.vectors.map((one) => ({
  name: one.name,
  appId: appIdOf(one),
  environment: one.environment,
  keyId: fromBase64(one.keyId),
  now: Date.parse(one.verifyAt),
  attestationObject: fromBase64(one.attestation),
  clientDataHash: hashOf(one.challenge, one.clientDataHashMode),
  publicKeyPem: one.publicKeyPem,
  extended: one.extensions !== null,
}))

export const assertions: readonly RecordedAssertion[] = [
  ...file.vectors,
  ...file.standaloneAssertions,
].flatMap((one) => {
  if (one.assertion === null) return []
  const object = membersOf(decodeCbor(fromBase64(one.assertion.cbor)), [
    'signature',
    'authenticatorData',
  ])
  const [signature, authenticatorData] = [
    bytesOf(object?.signature),
    bytesOf(object?.authenticatorData),
  ]
  if (signature === undefined || authenticatorData === undefined)
    throw new Error(`the recorded assertion ${one.name} is not one`)
  return {
    name: one.name,
    appId: appIdOf(one),
    publicKeyPem: one.publicKeyPem,
    clientDataHash: hashOf(one.assertion.clientData, one.assertion.clientDataHashMode ?? 'sha256'),
    authenticatorData,
    signature,
    counter: one.assertion.counter,
    extended: one.assertion.extensions !== null,
  }
})

/** An app that may be anything but another app. */
export function anyBuildOf(
  appId: string,
  environments: readonly AppleEnvironment[] = ['development', 'production'],
): AppleApp {
  return {
    appId,
    environments,
    categories: [1, 2, 3, 4, 5, 6, 10],
    missing: 'allow',
    bundleVersions: 'any',
  }
}

/** Apple's roots, for one app in one environment. */
export function trustFor({
  appId,
  environment,
}: Pick<RecordedAttestation, 'appId' | 'environment'>) {
  return appleTrust([anyBuildOf(appId, [environment])])
}

export function spkiOf(pem: string): Buffer {
  return createPublicKey(pem).export({ format: 'der', type: 'spki' })
}

function appIdOf({ teamId, bundleId }: Written): string {
  return `${teamId}.${bundleId}`
}

/** Apple's published sample signs the challenge itself; phones sign its hash. */
function hashOf(base64: string, mode: string): Buffer {
  return mode === 'raw' ? fromBase64(base64) : hash('sha256', fromBase64(base64), 'buffer')
}

function fromBase64(text: string): Buffer {
  return Buffer.from(text, 'base64')
}
