import { concat, sha256 } from './phone-signature.ts'

type Hash = Uint8Array<ArrayBuffer>

/** The hash of an entry (RFC 6962). */
export function leafHash(entry: Uint8Array): Promise<Hash> {
  return sha256(concat(Uint8Array.of(0), entry))
}

function nodeHash(left: Uint8Array, right: Uint8Array): Promise<Hash> {
  return sha256(concat(Uint8Array.of(1), concat(left, right)))
}

/** The root that a proof of inclusion leads to (RFC 9162, section 2.1.3.2). */
export async function rootOfInclusion(of: {
  readonly leaf: Hash
  readonly index: number
  readonly size: number
  readonly path: readonly Uint8Array[]
}): Promise<Hash | undefined> {
  let { leaf: hash, index } = of
  if (index >= of.size) return undefined
  let last = of.size - 1
  for (const sibling of of.path) {
    if (last === 0) return undefined
    if (index % 2 === 1 || index === last) {
      hash = await nodeHash(sibling, hash)
      while (index % 2 === 0 && index !== 0) [index, last] = [half(index), half(last)]
    } else hash = await nodeHash(hash, sibling)
    ;[index, last] = [half(index), half(last)]
  }
  return last === 0 ? hash : undefined
}

/** Whether a proof shows that the newer tree begins with the older one (RFC 9162, 2.1.4.2). */
export async function isConsistent(of: {
  readonly older: { readonly size: number; readonly root: Uint8Array }
  readonly newer: { readonly size: number; readonly root: Uint8Array }
  readonly proof: readonly Uint8Array[]
}): Promise<boolean> {
  const { older, newer, proof } = of
  if (older.size > newer.size) return false
  if (older.size === newer.size) return proof.length === 0 && same(older.root, newer.root)
  if (older.size === 0)
    return proof.length === 0 && same(older.root, await sha256(new Uint8Array()))
  let [index, last] = [older.size - 1, newer.size - 1]
  while (index % 2 === 1) [index, last] = [half(index), half(last)]
  const path = index === 0 ? [older.root, ...proof] : proof
  const [first, ...rest] = path
  if (first === undefined) return false
  let [before, after] = [first, first]
  for (const sibling of rest) {
    if (last === 0) return false
    if (index % 2 === 1 || index === last) {
      before = await nodeHash(sibling, before)
      after = await nodeHash(sibling, after)
      while (index % 2 === 0 && index !== 0) [index, last] = [half(index), half(last)]
    } else after = await nodeHash(after, sibling)
    ;[index, last] = [half(index), half(last)]
  }
  return last === 0 && same(before, older.root) && same(after, newer.root)
}

function half(number: number): number {
  return Math.floor(number / 2)
}

/** Whether two public hashes are equal. */
export function same(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, index) => byte === other[index])
}
