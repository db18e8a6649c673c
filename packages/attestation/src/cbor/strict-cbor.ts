import { type DecodeOptions, decodeFirst, type Token, Tokenizer, Type } from 'cborg'

/**
 * One value has one encoding: shortest integers, definite lengths and unique keys. The only type
 * beyond those of JSON is the byte string.
 */
const STRICT: DecodeOptions = {
  strict: true,
  allowIndefinite: false,
  allowUndefined: false,
  allowBigInt: true,
  rejectDuplicateMapKeys: true,
  retainStringBytes: true,
  useMaps: true,
}

/**
 * Rejects the values that cborg reads from more than one encoding: 2.0 as 2, a text with a byte
 * order mark as the text without it, and any invalid UTF-8 as U+FFFD.
 */
class StrictTokenizer extends Tokenizer {
  override next(): Token {
    const token = super.next()
    // The supported formats contain no fractions, and whole numbers have their own type.
    if (Type.equals(token.type, Type.float)) throw new RangeError('float')
    if (token.byteValue !== undefined && !isUtf8Of(String(token.value), token.byteValue))
      throw new RangeError('text')
    return token
  }
}

/** Whether the bytes are the UTF-8 encoding of the text. ASCII has a fast path. */
function isUtf8Of(text: string, bytes: Uint8Array): boolean {
  const isAscii = text.length === bytes.length && !text.includes('\uFFFD')
  return isAscii || Buffer.from(text).equals(bytes)
}

/**
 * Decodes exactly one value. Undefined unless the bytes are strict CBOR with nothing after the
 * value. The caller bounds the size.
 */
export function decodeCbor(bytes: Uint8Array): unknown {
  const first = decodeFirstCbor(bytes)
  return first?.rest.length === 0 ? first.value : undefined
}

/** Decodes the first value, and returns it with the bytes after it. The caller bounds the size. */
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
    // Any failure means that the bytes are malformed, including nesting that overflows the stack.
    return undefined
  }
}

/**
 * Returns the members of a map that has exactly these text keys in this order. Pass the names in
 * canonical CBOR order, shortest first. Undefined for any other value.
 */
export function membersOf<Name extends string>(
  value: unknown,
  names: readonly Name[],
): Readonly<Record<Name, unknown>> | undefined {
  if (!(value instanceof Map) || value.size !== names.length) return undefined
  // A key may also be a list of one text, which Object.fromEntries would convert to that text.
  if (![...value.keys()].every((key, index) => key === names[index])) return undefined
  return Object.fromEntries(value) as Record<Name, unknown>
}

/** A byte string as a Buffer on the same memory. Undefined for any other value. */
export function bytesOf(value: unknown): Buffer | undefined {
  return value instanceof Uint8Array
    ? Buffer.from(value.buffer, value.byteOffset, value.byteLength)
    : undefined
}
