import type { ServingNode } from '../../ports/store.ts'
import type { Service } from '../service.ts'

/** The nodes that serve the database now. None on SQLite, whose one node sends no messages. */
export function listNodes({ store }: Service): Promise<readonly ServingNode[]> {
  return store.read((tables) => tables.nodes())
}
