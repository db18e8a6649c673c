import { readTlv, unlessMalformed } from '../asn1/tlv.ts'

/** The files of a chip that are read here, by their tag (Doc 9303-10, section 4.7). */
export const FILE_TAG = { dg1: 0x61, dg14: 0x6e, dg15: 0x6f, sod: 0x77 } as const
/** The machine-readable zone inside DG1. */
export const MRZ_TAG = 0x5f1f

/** What a file with this tag holds; undefined where the bytes are not that file, or more than it. */
export function contentOf(file: Buffer, tag: number): Buffer | undefined {
  const tlv = unlessMalformed(() => readTlv(file, 'file'))
  return tlv?.tag === tag ? tlv.content : undefined
}
