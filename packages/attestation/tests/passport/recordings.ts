import { X509Certificate } from 'node:crypto'
import { readVector, vectorsMissing } from '../../../contract/tests/vectors.ts'
import { readStateCertificate } from '../../src/passport/state-certificate.ts'
import type { Certificate } from '../../src/x509/certificate.ts'

/** A certificate that must be readable: a test that goes on without it would show nothing. */
export function certificate(der: Uint8Array): Certificate {
  const read = readStateCertificate(der)
  if (read === undefined) throw new Error('a recorded certificate is not read')
  return read
}

/**
 * What real and published documents hold, beside the repository; none where the folder is missing.
 */
const json = (file: string) =>
  vectorsMissing ? { vectors: [] } : JSON.parse(readVector('icao9303', file).toString('utf8'))
const bytes = (base64: string) => Buffer.from(base64, 'base64')

export interface RecordedState {
  readonly country: string
  readonly sod: Buffer
  readonly csca: Certificate
  readonly dg1Hash: string
}

/** Security objects of real states, each with the country's certificate. */
export const states: readonly RecordedState[] = json('sod-real-countries.json').vectors.map(
  (one: { country: string; sod: string; csca: string; dg1Hash: string }) => ({
    country: one.country,
    sod: bytes(one.sod),
    csca: certificate(bytes(one.csca)),
    dg1Hash: one.dg1Hash,
  }),
)

/** Security objects of a made-up state, without a country's certificate. */
export const synthetic: readonly {
  readonly name: string
  readonly sod: Buffer
  readonly dg1: Buffer
}[] = json('sod-synthetic-zkr.json').vectors.map(
  (one: { name: string; sod: string; dg1: string }) => ({
    name: one.name,
    sod: bytes(one.sod),
    dg1: bytes(one.dg1),
  }),
)

/** A file of the specimen of Erika Mustermann. */
export function erika(file: string): Buffer {
  return readVector('icao9303', 'bsi-erika', `EF_${file}.bin`)
}

/** What a real chip responded to a challenge. */
export function recordedChip(): {
  readonly dg15: Buffer
  readonly challenge: Buffer
  readonly signature: Buffer
} {
  const { dg15, challenge, signature } = JSON.parse(
    readVector('icao9303', 'active-auth-rsa.json').toString('utf8'),
  )
  return { dg15: bytes(dg15), challenge: bytes(challenge), signature: bytes(signature) }
}

/** The Dutch master list, and the certificate that its signer chains to. */
export function dutchMasterList(): { readonly list: Buffer; readonly root: Certificate } {
  const root = new X509Certificate(readVector('icao9303', 'NL_ROOT_CA.cer')).raw
  return { list: readVector('icao9303', 'masterlist-NL-2026-07-22.ml'), root: certificate(root) }
}
