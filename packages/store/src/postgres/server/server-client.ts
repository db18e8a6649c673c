import type { Client, ClientConfig } from 'pg'
import { ClosedConnection } from '../postgres-errors.ts'
import type { DatabaseHost } from './database-url.ts'
import type { Origin } from './server-survey.ts'
import type { Servers } from './servers.ts'

/** How long a new server may take to say what it is. */
const ADMIT_WITHIN_MS = 3_000
/** The code of a message that does not warn. */
const NO_WARNING = '00000'

/** A connection of the driver to one of the servers, which `connect` has checked. */
export interface ServerClient extends Client {
  readonly origin: Origin
  /** How many warnings the server has sent. */
  readonly warnings: number
  /** Closes it at once, even while it waits for a response. */
  destroy(cause: ClosedConnection): void
}

type Connected = (failure?: Error) => void

/** Defines the clients of a pool, each of which chooses its server when it is created. */
export function serverClients(
  BaseClient: typeof Client,
  { servers, configOf }: { servers: Servers; configOf: (host: DatabaseHost) => ClientConfig },
): new () => ServerClient {
  return class extends BaseClient implements ServerClient {
    readonly #host: DatabaseHost
    #origin: Origin = { cluster: '', timeline: undefined, started: '' }
    warnings = 0

    constructor() {
      const host = servers.current
      super(configOf(host))
      this.#host = host
      // A connection that breaks fails its statements, which is all that its user needs to know.
      this.on('error', () => undefined)
      this.on('notice', ({ code }) => {
        if (code !== NO_WARNING) this.warnings++
      })
    }

    get origin(): Origin {
      return this.#origin
    }

    override connect(): Promise<Client>
    override connect(connected: Connected): void
    override connect(connected?: Connected): Promise<Client> | void {
      const admitted = this.#connectChecked()
      if (connected === undefined) return admitted
      admitted.then(() => connected(), connected)
    }

    destroy(cause: ClosedConnection): void {
      // `pg` has no public way to close a connection that waits for a response, and does not
      // declare this member.
      const { connection } = this as unknown as {
        connection: { stream: { destroy(failure: Error): void } }
      }
      connection.stream.destroy(cause)
    }

    async #connectChecked(): Promise<Client> {
      let timer: NodeJS.Timeout | undefined
      try {
        await super.connect()
        timer = setTimeout(
          () => this.destroy(new ClosedConnection('it took too long to say what it is')),
          ADMIT_WITHIN_MS,
        )
        this.#origin = await servers.admit(this.#host, (text) => this.query(text))
        return this
      } catch (failure) {
        servers.leave(this.#host)
        this.destroy(new ClosedConnection('the connection was refused'))
        throw failure
      } finally {
        clearTimeout(timer)
      }
    }
  }
}
