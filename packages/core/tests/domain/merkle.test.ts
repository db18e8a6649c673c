import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { isConsistent, leafHash, rootOfInclusion } from '../../../integrator/src/receipt/merkle.ts'
import { edgeTiles, MerkleTree, proofTiles, type Tile } from '../../src/domain/merkle.ts'

const sha256 = (...parts: readonly Uint8Array[]): Uint8Array =>
  new Uint8Array(createHash('sha256').update(Buffer.concat(parts)).digest())
const entry = (number: number) => sha256(Buffer.from(String(number)))

/** The root as RFC 6962 defines it, from all leaves. */
function rootOf(leaves: readonly Uint8Array[]): Uint8Array {
  const [only] = leaves
  if (only === undefined) return sha256()
  if (leaves.length === 1) return sha256(Uint8Array.of(0), only)
  let middle = 1
  while (middle * 2 < leaves.length) middle *= 2
  return sha256(Uint8Array.of(1), rootOf(leaves.slice(0, middle)), rootOf(leaves.slice(middle)))
}

/** A store of tiles, which an append reads at the edge only. */
function appending() {
  const tiles = new Map<string, Tile>()
  const read = (wanted: readonly Pick<Tile, 'level' | 'index'>[]) =>
    wanted.flatMap(({ level, index }) => tiles.get(`${level}/${index}`) ?? [])
  let size = 0
  return {
    append(entries: readonly Uint8Array[]) {
      const tree = new MerkleTree(sha256, size, read(edgeTiles(size)))
      for (const tile of tree.append(entries)) tiles.set(`${tile.level}/${tile.index}`, tile)
      size = tree.size
    },
    root: (at: number) => new MerkleTree(sha256, at, read(edgeTiles(at))).root(),
    inclusion: (index: number, at: number) =>
      new MerkleTree(sha256, at, read(proofTiles(index, at))).inclusion(index),
    consistency: (before: number, at: number) =>
      new MerkleTree(sha256, at, read(proofTiles(before - 1, at))).consistency(before),
  }
}

test('the root of a tree in tiles is that of RFC 6962, however it was appended', () => {
  const log = appending()
  const entries: Uint8Array[] = []
  for (const count of [1, 1, 2, 3, 249, 1, 255, 256, 300, 7]) {
    const next = Array.from({ length: count }, (_, index) => entry(entries.length + index))
    log.append(next)
    entries.push(...next)
    assert.deepEqual(log.root(entries.length), rootOf(entries), String(entries.length))
  }
  for (const size of [1, 2, 255, 256, 257, 511, 512, 513, 768])
    assert.deepEqual(log.root(size), rootOf(entries.slice(0, size)), `first ${size}`)
})

test('proofs verify for every entry and size around the borders of tiles, and for no other', async () => {
  const log = appending()
  log.append(Array.from({ length: 66_000 }, (_, number) => entry(number)))
  const sizes = [1, 2, 3, 7, 8, 255, 256, 257, 300, 512, 65_535, 65_536, 65_537, 66_000]
  for (const size of sizes) {
    const root = log.root(size)
    for (const index of [0, 1, 254, 255, 256, 65_535, 65_536, size - 1]) {
      if (index >= size) continue
      const path = log.inclusion(index, size)
      const leaf = await leafHash(entry(index))
      assert.deepEqual(
        await rootOfInclusion({ leaf, index, size, path }),
        root,
        `${index} of ${size}`,
      )
      const other = await leafHash(entry(size + 1))
      assert.notDeepEqual(await rootOfInclusion({ leaf: other, index, size, path }), root)
      if (path.length > 0)
        assert.notDeepEqual(await rootOfInclusion({ leaf, index, size, path: path.slice(1) }), root)
    }
    for (const before of sizes.filter((each) => each <= size)) {
      const older = { size: before, root: log.root(before) }
      const newer = { size, root }
      const proof = log.consistency(before, size)
      assert.ok(await isConsistent({ older, newer, proof }), `${before} to ${size}`)
      const wrong = { size: before, root: sha256(older.root) }
      assert.ok(!(await isConsistent({ older: wrong, newer, proof })))
      if (before < size)
        assert.ok(!(await isConsistent({ older, newer: { size, root: sha256(root) }, proof })))
    }
  }
})
