import { hash } from 'node:crypto'
import { element, integer, octets, sequence } from '../test-pki/der.ts'
import type { PassportAuthority } from './authority.ts'
import type { PassportChip } from './chip.ts'
import { type MrzOptions, createMrz } from './mrz.ts'
import { createSignedData } from './signed-data.ts'
import { digestIdentifier, type PassportDigest } from './signer.ts'

/** The files that a reader reads from a chip, and the chip itself if it has a key. */
export interface SimulatedPassport {
  readonly sod: Buffer
  readonly dg1: Buffer
  readonly dg14: Buffer | undefined
  readonly dg15: Buffer | undefined
  readonly chip: PassportChip | undefined
}

export interface PassportOptions {
  readonly mrz?: MrzOptions
  readonly chip?: PassportChip
  /** Digest of the data groups. */
  readonly digest?: PassportDigest
  readonly signingTime?: number
  readonly contentType?: string
  readonly indefinite?: boolean
  /** Replaces the DG1 that `mrz` would produce. */
  readonly dg1?: Buffer
  /** Data groups that the security object does not list. */
  readonly unlisted?: readonly number[]
}

const LDS_SECURITY_OBJECT = '2.23.136.1.1.1'

/** Creates a passport of the test state. */
export function createPassport(
  authority: PassportAuthority,
  options: PassportOptions = {},
): SimulatedPassport {
  const { chip, digest = 'sha256', contentType = LDS_SECURITY_OBJECT, unlisted = [] } = options
  const dg1 = options.dg1 ?? dg1Of(createMrz(options.mrz))
  // Every passport has a face image (DG2). Phones do not send it.
  const groups = new Map([
    [1, dg1],
    [2, element(0x75, Buffer.from('a face'))],
    [14, chip?.dg14],
    [15, chip?.dg15],
  ])
  const entries = [...groups].flatMap(([number, group]) =>
    group === undefined || unlisted.includes(number)
      ? []
      : [sequence(integer(number), octets(hash(digest, group, 'buffer')))],
  )
  const content = sequence(integer(0), digestIdentifier(digest), sequence(...entries))
  const { signer, signerCertificate } = authority
  const { signingTime, indefinite } = options
  const signed = createSignedData({
    contentType,
    content,
    certificates: [signerCertificate],
    signerCertificate,
    signer,
    signingTime,
    indefinite,
  })
  return { sod: element(0x77, signed), dg1, dg14: chip?.dg14, dg15: chip?.dg15, chip }
}

function dg1Of(mrz: string): Buffer {
  return element(0x61, element(0x5f1f, Buffer.from(mrz)))
}
