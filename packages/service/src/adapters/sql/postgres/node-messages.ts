import { randomUUID } from 'node:crypto'
import type { NodeMessage, NodeMessages } from '../../../ports/peers.ts'
import type { Row } from '../statement.ts'
import type { Connections } from './server/connections.ts'

/** Twice as much as the longest message of a node. */
const MAX_TEXT = 1_000_000

/**
 * Sends a message, deletes old ones, and reads those of other nodes, in one statement that commits
 * by itself. `for update skip locked` lets nodes that delete at the same time pass each other.
 *
 * Rows that no node writes are not read: an id or a number of another form would break the arrays
 * of all later exchanges. A message of the future is one from before the server's clock went back.
 */
const EXCHANGE = `with
  sent as (
    insert into node_message (node, number, text) values ($1, $2::bigint, $3)
    on conflict do nothing),
  deleted as (
    delete from node_message where (node, number) in (
      select node, number from node_message
      where sent_at < clock_timestamp() - interval '10 seconds'
        or sent_at > clock_timestamp() + interval '10 seconds' for update skip locked)),
  read as (
    select * from unnest($4::text[], $5::bigint[]) as read (node, number))
  select m.node, m.number, m.text,
    extract(epoch from clock_timestamp() - m.sent_at)::float8 * 1000 as age_ms
  from node_message m left join read on read.node = m.node
  where m.node <> $1 and m.number > coalesce(read.number, 0)
    and m.sent_at between clock_timestamp() - interval '10 seconds'
      and clock_timestamp() + interval '10 seconds'
    and m.node ~ '^[0-9a-f-]{36}$' and m.number <= ${Number.MAX_SAFE_INTEGER}
    and length(m.text) <= ${MAX_TEXT}
  order by m.node, m.number`

/**
 * Messages by a table that PostgreSQL does not log: a crash of the server empties it, and it costs
 * no sync to disk.
 *
 * @param connections the pool of the store
 */
export function postgresMessages(connections: Connections): NodeMessages {
  const node = randomUUID()
  /** The number of the last message read from each node. */
  let read: ReadonlyMap<string, number> = new Map()
  return {
    async exchange({ number, text }) {
      const connection = await connections.take()
      let rows: readonly Row[]
      try {
        rows = (await connection.run({
          text: EXCHANGE,
          values: [node, number, text, array(read.keys()), array(read.values())],
        })) as readonly Row[]
      } finally {
        connection.release()
      }
      const messages = rows.map(toMessage)
      const latest = new Map(messages.map((message) => [message.node, message.number]))
      // A node without messages for longer than they are kept has none that were read before.
      read = new Map([...read].slice(-MAX_NODES).concat([...latest]))
      return messages
    },
  }
}

/** More nodes than a database can have connections for. Ids of stopped nodes are dropped. */
const MAX_NODES = 1_000

/** An array of UUIDs or numbers in PostgreSQL's own spelling. */
function array(values: Iterable<string | number>): string {
  return `{${[...values].join(',')}}`
}

function toMessage(row: Row): NodeMessage {
  return {
    node: String(row.node),
    number: Number(row.number),
    text: String(row.text),
    ageMs: Math.max(0, Number(row.age_ms)),
  }
}
