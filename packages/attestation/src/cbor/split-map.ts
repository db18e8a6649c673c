/** One encoded member of a map. The buffers are views of the input. */
export interface EncodedMember {
  readonly key: Buffer
  readonly value: Buffer
}

/** Recorded maps nest one level deep. The limit bounds the recursion. */
const MAX_DEPTH = 16
const INDEFINITE = 31
const BREAK = 0xff

/** Numbers of the CBOR major types (RFC 8949, section 3.1). */
const MAJOR = { bytes: 2, text: 3, list: 4, map: 5, tag: 6, simple: 7 } as const

/**
 * Splits exactly one map of definite length into its members without interpreting them, so that a
 * reader can skip members of types that it does not know. Undefined for bytes that are not
 * well-formed (RFC 8949, appendix C), that nest too deep, that name a key twice or that continue
 * after the map, and for maps of 256 members or more. The caller bounds the size.
 */
export function splitMap(bytes: Buffer): readonly EncodedMember[] | undefined {
  try {
    return membersOf(bytes)
  } catch (failure) {
    // The checks below throw RangeError, and so does Buffer for a read past the end.
    if (failure instanceof RangeError) return undefined
    throw failure
  }
}

function membersOf(bytes: Buffer): EncodedMember[] {
  const { major, info, argument, next } = headAt(bytes, 0)
  // The head of the map must use the shortest form: one byte below 24 members, two below 256.
  const isShortest = info < 24 || (info === 24 && argument >= 24)
  if (major !== MAJOR.map || !isShortest) throw new RangeError('not a map')
  const members: EncodedMember[] = []
  const keys = new Set<string>()
  let index = next
  for (let left = argument; left > 0; left--) {
    const keyEnd = endOfItem(bytes, index, 1)
    const valueEnd = endOfItem(bytes, keyEnd, 1)
    const key = bytes.subarray(index, keyEnd)
    if (keys.has(key.toString('hex'))) throw new RangeError('key twice')
    keys.add(key.toString('hex'))
    members.push({ key, value: bytes.subarray(keyEnd, valueEnd) })
    index = valueEnd
  }
  if (index !== bytes.length) throw new RangeError('bytes after the map')
  return members
}

interface Head {
  readonly major: number
  readonly info: number
  readonly argument: number
  /** Offset of the content. */
  readonly next: number
}

function headAt(bytes: Buffer, index: number): Head {
  const first = bytes.readUInt8(index)
  const [major, info] = [first >> 5, first & 0x1f]
  const from = index + 1
  if (info < 24) return { major, info, argument: info, next: from }
  switch (info) {
    case 24:
      return { major, info, argument: bytes.readUInt8(from), next: from + 1 }
    case 25:
      return { major, info, argument: bytes.readUInt16BE(from), next: from + 2 }
    case 26:
      return { major, info, argument: bytes.readUInt32BE(from), next: from + 4 }
    case 27:
      return { major, info, argument: Number(bytes.readBigUInt64BE(from)), next: from + 8 }
    case INDEFINITE:
      return { major, info, argument: 0, next: from }
    default:
      throw new RangeError('reserved length')
  }
}

/** Returns the offset after the item at the index. */
function endOfItem(bytes: Buffer, index: number, depth: number): number {
  if (depth > MAX_DEPTH) throw new RangeError('too deep')
  const { major, info, argument, next } = headAt(bytes, index)
  switch (major) {
    case MAJOR.bytes:
    case MAJOR.text:
      return info === INDEFINITE
        ? endOfPieces(bytes, next, major)
        : endWithin(bytes, next + argument)
    case MAJOR.list:
    case MAJOR.map: {
      const itemsEach = major === MAJOR.map ? 2 : 1
      return info === INDEFINITE
        ? endOfOpenItems(bytes, next, { itemsEach, depth })
        : endOfItems(bytes, next, { count: argument * itemsEach, depth })
    }
    case MAJOR.tag:
      if (info === INDEFINITE) throw new RangeError('tag')
      return endOfItem(bytes, next, depth + 1)
    case MAJOR.simple:
      // A break is valid only at the end of an indefinite length. Simple values below 32 have one
      // encoding.
      if (info === INDEFINITE || (info === 24 && argument < 32)) throw new RangeError('simple')
      return next
    default:
      if (info === INDEFINITE) throw new RangeError('integer')
      return next
  }
}

function endOfItems(
  bytes: Buffer,
  from: number,
  { count, depth }: { count: number; depth: number },
): number {
  let index = from
  // Each item takes at least one byte, so a count that is too high fails at the end of the bytes.
  for (let left = count; left > 0; left--) index = endOfItem(bytes, index, depth + 1)
  return index
}

function endOfOpenItems(
  bytes: Buffer,
  from: number,
  { itemsEach, depth }: { itemsEach: number; depth: number },
): number {
  let index = from
  while (bytes.readUInt8(index) !== BREAK)
    index = endOfItems(bytes, index, { count: itemsEach, depth })
  return index + 1
}

/** Skips a string of indefinite length: pieces of definite length and of the same type. */
function endOfPieces(bytes: Buffer, from: number, type: number): number {
  let index = from
  while (bytes.readUInt8(index) !== BREAK) {
    const { major, info, argument, next } = headAt(bytes, index)
    if (major !== type || info === INDEFINITE) throw new RangeError('piece')
    index = endWithin(bytes, next + argument)
  }
  return index + 1
}

function endWithin(bytes: Buffer, end: number): number {
  if (end > bytes.length) throw new RangeError('truncated')
  return end
}
