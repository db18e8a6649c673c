import { NODE_LEVEL } from '../../domain/node-level.ts'
import { StoreError, type Unit } from '../../ports/store.ts'
import { OperatorError } from '../admin/operator-error.ts'
import type { Service } from '../service.ts'

/**
 * Begins to serve as a node. Call it last, because a node that has sent no message for 10 seconds
 * does not count.
 *
 * @throws {StoreError} where a feature is in use that this version would ignore
 */
export async function admitNode({ store }: Pick<Service, 'store'>): Promise<void> {
  const node = { node: store.messages?.node ?? '', level: NODE_LEVEL }
  const admit: Unit<boolean> = (tables) => tables.admitNode(node)
  // On SQLite it only reads, so that a service starts on a full disk too.
  if (await (store.messages ? store.write(admit) : store.read(admit))) return
  throw new StoreError(
    'This version would ignore a feature that is in use, so it does not serve. Usually the service was upgraded, and this node was not. Start the version of the other nodes. To return to this version, restore a backup from before the upgrade.',
    { kind: 'unsuitable' },
  )
}

/** Reports whether this node ignores a feature in use: it sent no messages when it was claimed. */
export async function measureLevel({ store, meter }: Pick<Service, 'store' | 'meter'>) {
  const isOutdated = (await store.read((tables) => tables.usedLevel())) > NODE_LEVEL
  meter.measuredLevel(isOutdated)
  return isOutdated
}

/**
 * Counts the nodes that serve. Undefined on SQLite, whose one node sends no messages.
 *
 * @throws {OperatorError} that names the nodes that ignore a feature in use
 */
export async function reportNodes({ store }: Pick<Service, 'store'>) {
  const [nodes, used] = await store.read(function* (tables) {
    return [yield* tables.nodes(), yield* tables.usedLevel()] as const
  })
  const outdated = nodes.filter(({ level }) => level < used).map(({ node }) => node)
  if (outdated.length > 0)
    throw new OperatorError(
      `Nodes that serve, and ignore a feature that is in use: ${outdated.join(', ')}. They run an older version. Their metric bonded_node_outdated is 1, and their log has the same id. Stop them, and start the version of the other nodes`,
    )
  return nodes.length === 0 ? undefined : `Nodes that serve: ${nodes.length}.`
}
