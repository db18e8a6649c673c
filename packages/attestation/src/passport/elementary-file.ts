import { readTlv, unlessMalformed } from '../asn1/tlv.ts'

/** Tags of the files that this package reads (Doc 9303-10, section 4.7). */
export const FILE_TAG = { dg1: 0x61, dg14: 0x6e, dg15: 0x6f, sod: 0x77 } as const
/** Tag of the machine-readable zone inside DG1. */
export const MRZ_TAG = 0x5f1f

/** Returns the content of a file. Undefined unless the bytes are exactly one file with this tag. */
export function contentOf(file: Buffer, tag: number): Buffer | undefined {
  const tlv = unlessMalformed(() => readTlv(file, 'file'))
  return tlv?.tag === tag ? tlv.content : undefined
}
