import { childrenOf, type Tlv, isConstructed, Malformed, MAX_DEPTH, TAG } from './tlv.ts'

/** Encodes one element in DER. */
export function writeTlv(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(contents)
  return Buffer.concat([Buffer.from(hexOf(tag), 'hex'), lengthOf(content.length), content])
}

/**
 * Re-encodes a BER element in DER: shortest definite lengths, and sorted members of a SET.
 *
 * @throws {Malformed} if the element nests deeper than 32 levels
 */
export function toDer(tlv: Tlv, tag: number = tlv.tag, depth = 0): Buffer {
  if (!isConstructed(tlv)) return writeTlv(tag, tlv.content)
  if (depth > MAX_DEPTH) throw new Malformed('too deep')
  const members = childrenOf(tlv, tlv.tag).map((member) => toDer(member, member.tag, depth + 1))
  return writeTlv(
    tag,
    ...(tag === TAG.set ? members.sort((one, other) => Buffer.compare(one, other)) : members),
  )
}

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.of(length)
  const bytes = Buffer.from(hexOf(length), 'hex')
  return Buffer.concat([Buffer.of(0x80 | bytes.length), bytes])
}

function hexOf(value: number): string {
  const hex = value.toString(16)
  return hex.length % 2 === 0 ? hex : `0${hex}`
}
