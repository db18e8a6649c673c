import type { Logger } from 'pino'
import type { ServiceClient } from './service-client.ts'
import type { Notice, SqliteRows } from './sqlite-rows.ts'

/** Each takes a connection to the service. The others wait until one of these ends. */
const MAX_WATCHED = 1_000

export interface NoticesOptions {
  readonly rows: SqliteRows
  readonly service: ServiceClient
  /** Sends a notice. False if it has to be sent again. */
  readonly deliver: (notice: Notice) => Promise<boolean>
  readonly log: Logger
  /** Ends the watching, and what is on its way. */
  readonly stop: AbortSignal
}

/**
 * Sends notices when users answer. A notice is a row until it was sent, so a process that is killed
 * loses none; the next one may send it twice.
 */
export class Notices implements AsyncDisposable {
  readonly #options: NoticesOptions
  readonly #watched = new Map<string, Promise<void>>()

  constructor(options: NoticesOptions) {
    this.#options = options
  }

  /** Watches the notices that it does not watch yet. Call it after requests and periodically. */
  watch(): void {
    const { rows, log, stop } = this.#options
    for (const notice of stop.aborted ? [] : rows.dueNotices()) {
      const { approval } = notice
      if (this.#watched.size >= MAX_WATCHED) return
      if (this.#watched.has(approval)) continue
      const watched = this.#send(notice)
        .catch((err: unknown) => {
          if (!stop.aborted) log.warn({ err, session: approval }, 'an answer is reported later')
        })
        .finally(() => this.#watched.delete(approval))
      this.#watched.set(approval, watched)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#watched.values())
  }

  async #send(notice: Notice): Promise<void> {
    const { rows, service, deliver, stop } = this.#options
    await service.untilAnswered(notice.approval, stop)
    if (await deliver(notice)) rows.removeNotice(notice.approval)
    else rows.postponeNotice(notice)
  }
}
