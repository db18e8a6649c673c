import type { Tile } from '../../domain/merkle.ts'
import type { Tables } from '../../ports/store.ts'
import type { StoredTile } from '../../ports/tables/receipt-log-table.ts'
import type { Work } from '../../ports/work.ts'

/** Reads those tiles of the log that exist. */
export function* readTiles(
  receiptLog: Tables['receiptLog'],
  wanted: readonly Pick<Tile, 'level' | 'index'>[],
): Work<readonly StoredTile[]> {
  const tiles: StoredTile[] = []
  for (const { level, index } of wanted) {
    const tile = yield* receiptLog.tile(level, index)
    if (tile !== undefined) tiles.push(tile)
  }
  return tiles
}
