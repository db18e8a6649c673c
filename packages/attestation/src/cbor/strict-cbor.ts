import { type DecodeOptions, decodeFirst, type Token, Tokenizer, Type } from 'cborg'

/** One value has one spelling: shortest integers, definite lengths, no key twice, nothing that JSON could not say but bytes. */
const STRICT: DecodeOptions = {
  strict: true,
  allowIndefinite: false,
  allowUndefined: false,
  allowBigInt: true,
  rejectDuplicateMapKeys: true,
  retainStringBytes: true,
  useMaps: true,
}

/** What the library would take in two spellings: 2.0 is 2 to it, a text is the same behind a byte order mark, and what is no UTF-8 is one character. */
class StrictTokenizer extends Tokenizer {
  override next(): Token {
    const token = super.next()
    // No fraction is sent to us, and a whole number has its own type.
    if (Type.equals(token.type, Type.float)) throw new RangeError('float')
    if (token.byteValue !== undefined && !isSpelledSo(String(token.value), token.byteValue))
      throw new RangeError('text')
    return token
  }
}

/** Whether the bytes are the text's own in UTF-8. A character for each byte, none of them in the place of an unreadable one, is ASCII. */
function isSpelledSo(text: string, bytes: Uint8Array): boolean {
  const isAscii = text.length === bytes.length && !text.includes('\uFFFD')
  return isAscii || Buffer.from(text).equals(bytes)
}

/** The only value of these bytes; undefined where they are not strict CBOR to the end. The caller bounds the size. */
export function decodeCbor(bytes: Uint8Array): unknown {
  const first = decodeFirstCbor(bytes)
  return first?.rest.length === 0 ? first.value : undefined
}

/** The first value, and the bytes after it. */
export function decodeFirstCbor(
  bytes: Uint8Array,
): { readonly value: unknown; readonly rest: Uint8Array } | undefined {
  const tokenizer = new StrictTokenizer(
    new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength),
    STRICT,
  )
  try {
    const [value, rest] = decodeFirst(bytes, { ...STRICT, tokenizer })
    return { value, rest }
  } catch {
    // Whatever it stumbled over, also a nesting too deep for the stack: these bytes are not ours.
    return undefined
  }
}

/** The members of a map that has exactly these text keys in this order, shortest first, as canonical CBOR has them; undefined for anything else. */
export function membersOf<Name extends string>(
  value: unknown,
  names: readonly Name[],
): Readonly<Record<Name, unknown>> | undefined {
  if (!(value instanceof Map) || value.size !== names.length) return undefined
  // A list of a text is a key too, and would turn into the text.
  if (![...value.keys()].every((key, at) => key === names[at])) return undefined
  return Object.fromEntries(value) as Record<Name, unknown>
}

/** A byte string as a Buffer on the same memory; undefined for any other value. */
export function bytesOf(value: unknown): Buffer | undefined {
  return value instanceof Uint8Array
    ? Buffer.from(value.buffer, value.byteOffset, value.byteLength)
    : undefined
}
