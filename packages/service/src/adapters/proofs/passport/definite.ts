import { childrenOf, type Element, TAG } from '../der/element.ts'

const CONSTRUCTED = 0x20

/** An element written anew in DER: definite lengths, as short as they can be, and the members of a SET in order. */
export function inDer(element: Element, tag: number = element.tag): Buffer {
  const content = (element.tag & CONSTRUCTED) === 0 ? element.content : Buffer.concat(membersInDer(element, tag))
  return Buffer.concat([Buffer.of(tag), lengthOf(content.length), content])
}

function membersInDer(element: Element, tag: number): readonly Buffer[] {
  const members = (childrenOf(element, element.tag, 'ber') ?? []).map((member) => inDer(member))
  return tag === TAG.set ? members.sort((one, other) => Buffer.compare(one, other)) : members
}

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.of(length)
  const octets = length < 0x1_00 ? 1 : length < 0x1_00_00 ? 2 : 3
  const bytes = Buffer.alloc(octets + 1, 0x80 | octets)
  bytes.writeUIntBE(length, 1, octets)
  return bytes
}
