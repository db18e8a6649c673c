import type { SessionId } from '@bonded/contract'
import type { Row, Statement } from '../statement.ts'

/** The part of the store's connection that this class uses. */
export interface WritingConnection {
  run(statement: Statement): readonly Row[] | number
  /** Changes when another connection has committed, not when this one has. */
  externalVersion(): number
}

/**
 * Finds events that other processes have stored, such as the command line. SQLite sends no
 * notification and only counts commits. Events are read by their increasing rowid, so the cost does
 * not depend on the number of stored events.
 */
export class ExternalChanges {
  readonly #connection: WritingConnection
  #version: number
  #upTo: number

  constructor(connection: WritingConnection) {
    this.#connection = connection
    this.#upTo = this.#latest()
    this.#version = connection.externalVersion()
  }

  next(): readonly { sessionId: SessionId; seq: number }[] {
    // The order matters: an event stored between the two reads is found now or at the next call.
    const latest = this.#latest()
    const version = this.#connection.externalVersion()
    const found = version === this.#version ? [] : this.#after(this.#upTo)
    this.#upTo = latest
    this.#version = version
    return found
  }

  #latest(): number {
    const [found] = this.#connection.run({
      text: 'select coalesce(max(rowid), 0) as latest from session_event',
      values: [],
    }) as readonly Row[]
    return Number(found?.latest)
  }

  #after(rowid: number): { sessionId: SessionId; seq: number }[] {
    const text = `select session.id, max(session_event.seq) as seq from session_event join session using (session_key)
       where session_event.rowid > $1 and session_event.seq is not null group by session.id`
    const found = this.#connection.run({ text, values: [rowid] }) as readonly Row[]
    return found.map(({ id, seq }) => ({ sessionId: id as SessionId, seq: Number(seq) }))
  }
}
