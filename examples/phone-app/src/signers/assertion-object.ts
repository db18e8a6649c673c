import { PhoneError } from '@bonded/phone'

/** What `DCAppAttestService.generateAssertion` returns. */
export interface AssertionObject {
  readonly signature: Uint8Array
  readonly authenticatorData: Uint8Array
}

const MAP_OF_TWO = 0xa2
const SHORT_TEXT = 0x60
const LONGEST_SHORT = 0x17
const BYTES = { upTo255: 0x58, upTo65535: 0x59 }

/**
 * Reads the CBOR map of an assertion. It has two members, both byte strings, so this reader knows
 * that shape only.
 *
 * @throws {PhoneError} `authenticator_unusable` for any other bytes
 */
export function readAssertionObject(bytes: Uint8Array): AssertionObject {
  let offset = 0
  const take = (length: number) => {
    const taken = bytes.subarray(offset, offset + length)
    if (taken.length !== length) throw unreadable()
    offset += length
    return taken
  }
  const byte = () => take(1)[0] ?? 0
  const text = () => {
    const length = byte() - SHORT_TEXT
    if (length < 0 || length > LONGEST_SHORT) throw unreadable()
    return String.fromCharCode(...take(length))
  }
  const byteString = () => {
    const head = byte()
    if (head === BYTES.upTo255) return take(byte())
    if (head === BYTES.upTo65535) return take(byte() * 256 + byte())
    throw unreadable()
  }
  if (byte() !== MAP_OF_TWO) throw unreadable()
  const members = new Map<string, Uint8Array>()
  for (let member = 0; member < 2; member++) members.set(text(), byteString())
  const [signature, data] = [members.get('signature'), members.get('authenticatorData')]
  if (signature === undefined || data === undefined || offset !== bytes.length) throw unreadable()
  return { signature, authenticatorData: data }
}

function unreadable(): PhoneError {
  return new PhoneError('authenticator_unusable', { reason: 'assertion_object' })
}
