import { type Element, isElement } from '../der/element.ts'
import { oid } from '../der/oid.ts'
import { idOf, sequence } from './ber.ts'

/** The hash functions of Doc 9303-12. SHA-1 still stands in documents that are valid. */
export type Digest = 'sha1' | 'sha224' | 'sha256' | 'sha384' | 'sha512'

const DIGESTS = new Map<string, Digest>(
  (
    [
      ['1.3.14.3.2.26', 'sha1'],
      ['2.16.840.1.101.3.4.2.4', 'sha224'],
      ['2.16.840.1.101.3.4.2.1', 'sha256'],
      ['2.16.840.1.101.3.4.2.2', 'sha384'],
      ['2.16.840.1.101.3.4.2.3', 'sha512'],
    ] as const
  ).map(([id, digest]) => [oid(id).toString('hex'), digest]),
)

/** The digest that an algorithm identifier names. */
export function digestOf(identifier: Element | undefined): Digest | undefined {
  const [id, ...parameters] = sequence(identifier)
  return saysNothing(parameters) ? DIGESTS.get(idOf(id)) : undefined
}

const NULL = 0x05

/** Parameters that are left out, or written as NULL: both are in use. */
export function saysNothing([only, ...more]: readonly Element[]): boolean {
  return only === undefined || (isElement(only, NULL, Buffer.alloc(0)) && more.length === 0)
}
