/**
 * The content of an OBJECT IDENTIFIER.
 *
 * @example oid('1.2.840.10045.4.3.2') // 2a8648ce3d040302
 */
export function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number)
  return Buffer.from([first * 40 + second, ...rest].flatMap(base128))
}

function base128(arc: number): number[] {
  const septets = [arc & 0x7f]
  for (let left = arc >>> 7; left > 0; left >>>= 7) septets.unshift((left & 0x7f) | 0x80)
  return septets
}
