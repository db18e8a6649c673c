import { oid } from '../der/oid.ts'
import { numberOf, octetsOf, readBer, sequence } from './ber.ts'
import { type Digest, digestOf } from './digest.ts'

/** The state's list of the chip's data groups and their hashes (Doc 9303-10, LDSSecurityObject). */
export interface SecurityObject {
  readonly digest: Digest
  readonly hashes: ReadonlyMap<number, Buffer>
}

/** ICAO's own type, its forerunner (Belgium, France), that of Dutch documents, and plain data (China). */
export const SECURITY_OBJECT_TYPES: readonly string[] = ['2.23.136.1.1.1', '1.3.27.1.1.1', '1.2.528.1.1006.1.20.1', '1.2.840.113549.1.7.1'].map(
  (id) => oid(id).toString('hex'),
)

const DATA_GROUPS = 16

export function readSecurityObject(content: Buffer): SecurityObject | undefined {
  const [version, algorithm, list] = sequence(readBer(content))
  const digest = digestOf(algorithm)
  if (numberOf(version) === undefined || digest === undefined) return undefined
  const hashes = new Map<number, Buffer>()
  for (const entry of sequence(list)) {
    const [number, hash] = [numberOf(sequence(entry)[0]), octetsOf(sequence(entry)[1])]
    if (number === undefined || number < 1 || number > DATA_GROUPS || hash === undefined || hashes.has(number)) return undefined
    hashes.set(number, hash)
  }
  return hashes.size > 0 ? { digest, hashes } : undefined
}
