/** The files of a chip that are read here, by their tag (Doc 9303-10, section 4.7). */
export const FILE_TAG = { dg1: 0x61, dg14: 0x6e, dg15: 0x6f, sod: 0x77 } as const
/** The machine-readable zone inside DG1. */
export const MRZ_TAG = 0x5f1f

/** No file that is read here is longer than an upload may be. */
const MAX_LENGTH_OCTETS = 3

/** What a file with this tag holds; undefined where the bytes are not that file, or more than it. */
export function contentOf(file: Buffer, tag: number): Buffer | undefined {
  const tagBytes = tag > 0xff ? 2 : 1
  if (file.length < tagBytes + 1 || file.readUIntBE(0, tagBytes) !== tag) return undefined
  const first = file.readUInt8(tagBytes)
  const octets = first & 0x7f
  const from = tagBytes + 1 + (first < 0x80 ? 0 : octets)
  if (first >= 0x80 && (octets === 0 || octets > MAX_LENGTH_OCTETS || file.length < from)) return undefined
  const length = first < 0x80 ? first : file.readUIntBE(tagBytes + 1, octets)
  return file.length === from + length ? file.subarray(from) : undefined
}
