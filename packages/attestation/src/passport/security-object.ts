import { Malformed, readTlv, unlessMalformed } from '../asn1/tlv.ts'
import { readOctets, readSequence, readSmall } from '../asn1/values.ts'
import { type Digest, digestOf, readAlgorithm } from '../x509/algorithm.ts'

/** The state's list of the chip's data groups and their hashes (Doc 9303-10, LDSSecurityObject). */
export interface SecurityObject {
  readonly digest: Digest
  readonly hashes: ReadonlyMap<number, Buffer>
}

/** ICAO's type, its predecessor (Belgium, France), the Dutch type, and plain data (China). */
export const SECURITY_OBJECT_TYPES: readonly string[] = [
  '2.23.136.1.1.1',
  '1.3.27.1.1.1',
  '1.2.528.1.1006.1.20.1',
  '1.2.840.113549.1.7.1',
]

const DATA_GROUPS = 16

/** Reads a security object. Undefined if it is malformed, empty, or of an unknown digest. */
export function readSecurityObject(content: Buffer): SecurityObject | undefined {
  return unlessMalformed(() => {
    const [version, algorithm, list] = readSequence(readTlv(content, 'ber'))
    const digest = digestOf(readAlgorithm(algorithm))
    readSmall(version)
    const hashes = new Map<number, Buffer>()
    for (const entry of readSequence(list)) {
      const [number, hash] = readSequence(entry)
      const group = readSmall(number)
      if (group < 1 || group > DATA_GROUPS || hashes.has(group)) throw new Malformed('data group')
      hashes.set(group, readOctets(hash))
    }
    return digest === undefined || hashes.size === 0 ? undefined : { digest, hashes }
  })
}
