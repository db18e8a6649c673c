import { randomUUID } from 'node:crypto'
import { NODE_LEVEL } from '@bonded/core/domain/node-level'
import type { NodeMessage, NodeMessages } from '@bonded/core/ports/peers'
import type { Row } from '../statement.ts'
import type { Connections } from './server/connections.ts'

/** Twice as much as the longest message of a node. */
const MAX_TEXT = 1_000_000

/**
 * Messages that no node reads any more. A message of the future is one from before the server's
 * clock went back. Each range has two bounds, because with one, PostgreSQL reads the whole table
 * until it has analyzed it.
 */
const OLD = `(sent_at between '-infinity' and statement_timestamp() - interval '10 seconds'
  or sent_at between statement_timestamp() + interval '10 seconds' and 'infinity')`

/** Every eighth message of a node deletes old ones. */
const DELETING = 8

/**
 * Sends a message, deletes old ones, and reads those of other nodes, in one statement that commits
 * by itself. `for update skip locked` lets nodes that delete at the same time pass each other.
 *
 * Rows that no node writes are not read: an id or a number of another form would break the arrays
 * of all later exchanges.
 */
const EXCHANGE = `with
  sent as (
    insert into node_message (node, number, text, level)
    values ($1, $2::bigint, $3, ${NODE_LEVEL})
    on conflict do nothing),
  deleted as (
    delete from node_message where $2::bigint % ${DELETING} = 0 and ${OLD} and (node, number) in (
      select node, number from node_message where ${OLD} for update skip locked)),
  read as (
    select * from unnest($4::text[], $5::bigint[]) as read (node, number))
  select m.node, m.number, m.text,
    extract(epoch from clock_timestamp() - m.sent_at)::float8 * 1000 as age_ms
  from node_message m left join read on read.node = m.node
  where m.node <> $1 and m.number > coalesce(read.number, 0)
    and m.sent_at between statement_timestamp() - interval '10 seconds'
      and statement_timestamp() + interval '10 seconds'
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
  /** The last message read from each node. */
  let read: ReadonlyMap<string, Position> = new Map()
  return {
    node,
    async exchange({ number, text }) {
      const since = performance.now() - KEPT_MS
      // A row that another user of the database has written with a high number hides the messages
      // of its node for this long only. Older messages are not read anyway.
      read = new Map([...read].filter(([, { at }]) => at > since))
      const connection = await connections.take()
      let rows: readonly Row[]
      try {
        rows = (await connection.run({
          text: EXCHANGE,
          values: [node, number, text, array(read.keys()), numbers(read)],
        })) as readonly Row[]
      } finally {
        connection.release()
      }
      const messages = rows.map(toMessage)
      const at = performance.now()
      const latest = new Map(
        messages.map((message) => [message.node, { number: message.number, at }]),
      )
      read = new Map([...read, ...latest].slice(-MAX_NODES))
      return messages
    },
  }
}

/** The last message read from a node, and when, by the clock of this process. */
interface Position {
  readonly number: number
  readonly at: number
}

/** A second longer than messages are read. */
const KEPT_MS = 11_000

/** More nodes than a database can have connections for. Ids of stopped nodes are dropped. */
const MAX_NODES = 1_000

function numbers(read: ReadonlyMap<string, Position>): string {
  return array([...read.values()].map(({ number }) => number))
}

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
