import { createHash, randomBytes } from 'node:crypto'
import { StoreError } from '@bonded/core/ports/store'
import type { Row } from '../statement.ts'
import type { Connections } from './server/connections.ts'

/** The settings that all nodes of a database must share, by name, as text. */
export type SharedSettings = Readonly<Record<string, string>>

/**
 * Whether nodes use the stored settings. Each running node sends four messages a second. A node
 * that starts stores its settings up to some seconds before its first message.
 */
const IN_USE = `(exists (select 1 from node_message
    where sent_at > statement_timestamp() - interval '10 seconds')
  or stored_at > statement_timestamp() - interval '10 seconds')`
const FORGET = `delete from node_setting where not ${IN_USE}`
const STORE = `insert into node_setting (name, salt, hash) values ($1, $2, $3)
  on conflict (name) do nothing`
const FIND = `select name, salt, hash from node_setting where ${IN_USE}`

/**
 * Stores the settings of a node that starts, if no other node runs, and otherwise rejects a node
 * whose settings differ. Each of the statements decides by itself, so of two nodes that start at
 * once, at most one is accepted if they differ.
 *
 * @throws {StoreError} that names the settings
 */
export async function agreeOnSettings(
  connections: Connections,
  settings: SharedSettings,
): Promise<void> {
  await connections.run(async (connection) => {
    await connection.run({ text: FORGET, values: [] })
    for (const [name, value] of Object.entries(settings)) {
      const salt = randomBytes(16).toString('hex')
      const hash = hashOf({ name, value, salt })
      await connection.run({ text: STORE, values: [name, salt, hash] })
    }
  })
  await rejectOtherSettings(connections, settings)
}

/**
 * Compares settings with those of the nodes that run. Writes nothing.
 *
 * @throws {StoreError} that names the settings that differ
 */
export async function rejectOtherSettings(
  connections: Connections,
  settings: SharedSettings,
): Promise<void> {
  const stored = await connections.run(
    async (connection) =>
      (await connection.run({ text: FIND, values: [] })) as readonly (Row & StoredSetting)[],
  )
  const differing = stored.filter(({ name, salt, hash }) => {
    const value = settings[name]
    return value !== undefined && hashOf({ name, value, salt }) !== hash
  })
  if (differing.length === 0) return
  const { shown } = connections.settings.address
  const names = differing.map(({ name }) => name).toSorted()
  const [first, last] = [names.slice(0, -1), names.at(-1)]
  const which = first.length === 0 ? String(last) : `${first.join(', ')} and ${String(last)}`
  throw new StoreError(
    `${shown} cannot be used: ${which} of this node ${names.length === 1 ? 'differs' : 'differ'} from the other nodes of this database. Set the same value on all nodes. To change it for all of them, stop all nodes, and start them with the new value 10 seconds later.`,
    { kind: 'unsuitable', where: shown },
  )
}

interface StoredSetting {
  readonly name: string
  readonly salt: string
  readonly hash: string
}

/** The values need not be in the database, and some name internal addresses. */
function hashOf(setting: { name: string; value: string; salt: string }): string {
  return createHash('sha256')
    .update(`${setting.salt}\n${setting.name}\n${setting.value}`)
    .digest('hex')
}
