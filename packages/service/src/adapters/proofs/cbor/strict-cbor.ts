import { decode, decodeFirst, type DecodeOptions } from 'cborg'

/** One value has one spelling: shortest integers, definite lengths, no key twice, nothing that JSON could not say but bytes. */
const STRICT: DecodeOptions = {
  strict: true,
  allowIndefinite: false,
  allowUndefined: false,
  allowInfinity: false,
  allowNaN: false,
  rejectDuplicateMapKeys: true,
  useMaps: true,
}

/** The only value of these bytes; undefined where they are not strict CBOR to the end. The caller bounds the size. */
export function decodeCbor(bytes: Uint8Array): unknown {
  try {
    return decode(bytes, STRICT)
  } catch {
    // Whatever it stumbled over, also a nesting too deep for the stack: these bytes are not ours.
    return undefined
  }
}

/** The first value, and the bytes after it. */
export function decodeFirstCbor(bytes: Uint8Array): { readonly value: unknown; readonly rest: Uint8Array } | undefined {
  try {
    const [value, rest] = decodeFirst(bytes, STRICT)
    return { value, rest }
  } catch {
    return undefined
  }
}

/** The members of a map that has exactly these text keys in this order, shortest first, as canonical CBOR has them; undefined for anything else. */
export function membersOf<Name extends string>(value: unknown, names: readonly Name[]): Readonly<Record<Name, unknown>> | undefined {
  if (!(value instanceof Map) || [...value.keys()].join() !== names.join()) return undefined
  return Object.fromEntries(value) as Record<Name, unknown>
}

/** A byte string as a Buffer on the same memory; undefined for any other value. */
export function bytesOf(value: unknown): Buffer | undefined {
  return value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : undefined
}
