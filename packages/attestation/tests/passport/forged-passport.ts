import assert from 'node:assert/strict'
import { test } from 'node:test'
import { der, createPassportChip, createMrz } from '@bonded/simulator'
import { verifyPassport, type PassportInput } from '../../src/passport/verify-passport.ts'
import { CountryTrust } from '../../src/passport/country-trust.ts'
import {
  attribute,
  attributesOf,
  digestNamed,
  signerIdOf,
  type SignedDataOptions,
  type SignerOptions,
} from '../cms/test-cms.ts'
import {
  dg1With,
  hashesOf,
  newKeys,
  securityObject,
  signedByState,
  createTestState,
  type StateCertificateOptions,
} from './test-state.ts'
import { certificate } from './recordings.ts'

const { element, time } = der

export const NOW = Date.parse('2026-11-21T09:30:00.000Z')
export const SECOND_MS = 1_000
export const DAY_MS = 86_400_000
export const CHALLENGE = Buffer.from('a1b2c3d4e5f60718', 'hex')
export const LDS = '2.23.136.1.1.1'

export const { state, signer, stateWith, signerWith } = createTestState(NOW)
export const unrelated = newKeys()
export const [COUNTRY, SIGNER] = [stateWith(), signerWith()]
export const DG1 = dg1With(createMrz())
export const chip = createPassportChip({ kind: 'ecdsa' })
export const DG14 = chip.dg14 ?? Buffer.alloc(0)
export const RESPONSE = chip.response(CHALLENGE)

export interface Tampered {
  readonly dg1?: Buffer
  readonly dg14?: Buffer
  readonly dg15?: Buffer
  /** Replaces the signed list of the data groups. */
  readonly object?: Buffer
  readonly contentType?: string
  readonly certificate?: Buffer
  readonly data?: Partial<SignedDataOptions>
  readonly signer?: Partial<SignerOptions>
  /** Changes EF.SOD. */
  readonly file?: (sod: Buffer) => Buffer
  readonly sent?: Partial<PassportInput>
  readonly trusted?: readonly Buffer[]
  readonly now?: number
}

export function inputOf(tampered: Tampered): PassportInput {
  const {
    dg1 = DG1,
    dg14,
    dg15,
    contentType = LDS,
    certificate: own = SIGNER,
    file = (sod) => sod,
  } = tampered
  const groups = { 1: dg1, ...(dg14 && { 14: dg14 }), ...(dg15 && { 15: dg15 }) }
  const content = tampered.object ?? securityObject(digestNamed('sha256'), ...hashesOf(groups))
  const signed = signedByState({
    contentType,
    content,
    certificate: own,
    key: signer.privateKey,
    data: tampered.data,
    signer: tampered.signer,
  })
  return {
    sod: file(element(0x77, signed)),
    dg1,
    dg14,
    dg15,
    challenge: CHALLENGE,
    now: tampered.now ?? NOW,
    ...tampered.sent,
  }
}
/** Verifies a tampered passport. Returns its tier, and the failed check of the next tier. */
export const resultOf = (tampered: Tampered) => {
  const trust = new CountryTrust((tampered.trusted ?? [COUNTRY]).map(certificate))
  return tierOf(verifyPassport(inputOf(tampered), trust))
}
export const CONTENT = securityObject(digestNamed('sha256'), ...hashesOf({ 1: DG1 }))
export const [TYPE, DIGEST] = attributesOf(LDS, CONTENT) as [Buffer, Buffer]
export const signedAttributes = (...list: readonly Buffer[]): Tampered => ({
  signer: { signedAttributes: list },
})
export const signedWith = (options: Partial<StateCertificateOptions>): Tampered => ({
  certificate: signerWith(options),
})
export const listing = (...hashes: readonly (readonly [number, Uint8Array])[]): Tampered => ({
  object: securityObject(digestNamed('sha256'), ...hashes),
})
export const [[, HASH]] = hashesOf({ 1: DG1 }) as [readonly [number, Buffer]]
export const zone = (
  options: Parameters<typeof createMrz>[0],
  tamper = (text: string) => text,
): Tampered => ({
  dg1: dg1With(tamper(createMrz(options))),
})

export const signedAt = (instant: number) =>
  signedAttributes(TYPE, DIGEST, attribute('5', time(instant)))
export const chipped = (sent: Partial<PassportInput>): Tampered => ({
  dg14: DG14,
  dg15: chip.dg15,
  sent: { activeAuthentication: RESPONSE, ...sent },
})

export function onCurve(curve: string): Tampered {
  const { publicKey, privateKey } = newKeys(curve)
  return { certificate: signerWith({ publicKey }), signer: { key: privateKey } }
}

/**
 * Includes a certificate that no state issued and that verifies the signature. The signer id names
 * the certificate of the state.
 */
export function withUnidentifiedSigner(): Tampered {
  const certificate = signerWith({
    publicKey: unrelated.publicKey,
    issuerKey: unrelated.privateKey,
  })
  return {
    data: { certificates: [SIGNER, certificate] },
    signer: { signerId: signerIdOf(SIGNER), key: unrelated.privateKey },
  }
}

/** Formats a result: the tier, and the failed check of the next tier. */
export function tierOf(verdict: ReturnType<typeof verifyPassport>): string {
  if (!verdict.ok) return `none ${verdict.step}`
  return verdict.value.tier === 'chip' ? 'chip' : `document ${verdict.value.chipStep}`
}

/** What was changed, the change, and the expected result. */
export type Case = readonly [change: string, tampered: Tampered, expected: string]

/** Declares a test for each case. */
export function testCases(cases: readonly Case[]): void {
  for (const [change, tampered, expected] of cases)
    test(`returns "${expected}" for a passport with ${change}`, () =>
      assert.equal(resultOf(tampered), expected))
}
