/*
 * The Merkle tree of a log (RFC 6962, section 2.1) in tiles of 256 hashes (c2sp.org/tlog-tiles). A
 * tile of level 0 has leaf hashes. Each hash of a higher level is the hash of a full tile below.
 */

/** SHA-256 of the parts, joined. */
export type Sha256 = (...parts: readonly Uint8Array[]) => Uint8Array

/** The hashes of a tile, joined: at most 256. */
export interface Tile {
  readonly level: number
  readonly index: number
  readonly hashes: Uint8Array
}

/** The hashes of a full tile. */
export const TILE_WIDTH = 256
const TILE_HEIGHT = 8
const HASH_BYTES = 32
const LEAF = Uint8Array.of(0)
const NODE = Uint8Array.of(1)

/** A proof needs a tile that was not read, such as one that the retention has deleted. */
export class MissingTile extends Error {
  readonly code = 'tile_missing'
  override readonly name = 'MissingTile'
}

/** The hash of an entry. */
export function leafHash(sha256: Sha256, entry: Uint8Array): Uint8Array {
  return sha256(LEAF, entry)
}

/** How many hashes a level has in a tree of this size. */
function widthOf(level: number, size: number): number {
  return Math.floor(size / TILE_WIDTH ** level)
}

/** The last tile of each level: what an append reads, and what makes the root. */
export function edgeTiles(size: number): readonly Pick<Tile, 'level' | 'index'>[] {
  const tiles: { level: number; index: number }[] = []
  for (let level = 0; widthOf(level, size) > 0; level++)
    tiles.push({ level, index: Math.floor((widthOf(level, size) - 1) / TILE_WIDTH) })
  return tiles
}

/** The tiles that a proof about this entry reads, in a tree of this size. */
export function proofTiles(entry: number, size: number): readonly Pick<Tile, 'level' | 'index'>[] {
  const tiles = edgeTiles(size).flatMap((edge) => {
    const index = Math.floor(entry / TILE_WIDTH ** (edge.level + 1))
    return index < edge.index ? [edge, { level: edge.level, index }] : [edge]
  })
  return tiles
}

/** A tree of some size, by the tiles that were read of it. */
export class MerkleTree {
  readonly #sha256: Sha256
  readonly #tiles = new Map<string, Uint8Array>()
  #size: number

  constructor(sha256: Sha256, size: number, tiles: readonly Tile[]) {
    this.#sha256 = sha256
    this.#size = size
    for (const tile of tiles) this.#set(tile)
  }

  get size(): number {
    return this.#size
  }

  /** Appends entries. @returns the tiles that have changed. Needs the tiles of the edge. */
  append(entries: readonly Uint8Array[]): readonly Tile[] {
    const changed = new Map<string, Tile>()
    const add = (level: number, position: number, hash: Uint8Array): void => {
      const index = Math.floor(position / TILE_WIDTH)
      const before = this.#tiles.get(`${level}/${index}`) ?? new Uint8Array()
      const used = (position % TILE_WIDTH) * HASH_BYTES
      const hashes = new Uint8Array(used + HASH_BYTES)
      hashes.set(before.subarray(0, used))
      hashes.set(hash, used)
      const tile = { level, index, hashes }
      this.#set(tile)
      changed.set(`${level}/${index}`, tile)
      if (hashes.length === TILE_WIDTH * HASH_BYTES) add(level + 1, index, this.#merge(hashes))
    }
    for (const entry of entries) add(0, this.#size++, leafHash(this.#sha256, entry))
    return [...changed.values()]
  }

  /** The root of the first `size` entries. */
  root(size = this.#size): Uint8Array {
    return size === 0 ? this.#sha256() : this.#range(0, size)
  }

  /** The inclusion proof of an entry, from its sibling to the child of the root. */
  inclusion(entry: number, size = this.#size): readonly Uint8Array[] {
    return this.#path(entry, 0, size)
  }

  /** The proof that the tree begins with the first `before` entries. */
  consistency(before: number, size = this.#size): readonly Uint8Array[] {
    return before === 0 || before === size ? [] : this.#subproof(before, [0, size], true)
  }

  #path(entry: number, from: number, to: number): readonly Uint8Array[] {
    if (to - from === 1) return []
    const middle = from + split(to - from)
    return entry < middle
      ? [...this.#path(entry, from, middle), this.#range(middle, to)]
      : [...this.#path(entry, middle, to), this.#range(from, middle)]
  }

  #subproof(
    before: number,
    [from, to]: readonly [number, number],
    isKnown: boolean,
  ): readonly Uint8Array[] {
    if (before === to) return isKnown ? [] : [this.#range(from, to)]
    const middle = from + split(to - from)
    return before <= middle
      ? [...this.#subproof(before, [from, middle], isKnown), this.#range(middle, to)]
      : [...this.#subproof(before, [middle, to], false), this.#range(from, middle)]
  }

  /** The hash of the entries in [from, to): of one node, or of two, split as in RFC 6962. */
  #range(from: number, to: number): Uint8Array {
    const length = to - from
    const middle = from + split(length)
    const height = Math.log2(length)
    // A node of a tile, or of the part of a tile.
    if (Number.isInteger(height)) return this.#node(height, from / length)
    return this.#sha256(NODE, this.#range(from, middle), this.#range(middle, to))
  }

  #node(height: number, index: number): Uint8Array {
    const level = Math.floor(height / TILE_HEIGHT)
    const count = 2 ** (height % TILE_HEIGHT)
    const first = index * count
    const tile = this.#tiles.get(`${level}/${Math.floor(first / TILE_WIDTH)}`)
    const at = (first % TILE_WIDTH) * HASH_BYTES
    const hashes = tile?.subarray(at, at + count * HASH_BYTES)
    if (hashes?.length !== count * HASH_BYTES)
      throw new MissingTile(`${level}/${Math.floor(first / TILE_WIDTH)}`)
    return this.#merge(hashes)
  }

  /** The hash above a full row of hashes. */
  #merge(hashes: Uint8Array): Uint8Array {
    if (hashes.length === HASH_BYTES) return hashes
    const half = hashes.length / 2
    return this.#sha256(
      NODE,
      this.#merge(hashes.subarray(0, half)),
      this.#merge(hashes.subarray(half)),
    )
  }

  #set({ level, index, hashes }: Tile): void {
    this.#tiles.set(`${level}/${index}`, hashes)
  }
}

/** The largest power of two below a length of two or more. */
function split(length: number): number {
  return 2 ** Math.ceil(Math.log2(length) - 1)
}
