import type { WebSocket } from 'ws'
import { CLOSE, type TenantId } from '@bonded/contract'
import { mayKeepChannel } from '@bonded/core/operations/authenticate'
import type { Service } from '@bonded/core/operations/service'
import type { Cancel } from '@bonded/core/ports/clock'
import { closeChannel } from './close-channel.ts'

/** How often the service checks that the pages of open channels may still open one. */
export const RECHECK_MS = 1_000

/** What a page's channel was admitted with. */
export interface Page {
  /** Undefined for a page that opened the `websocket_url` as it is, without its key. */
  readonly key: string | undefined
  readonly origin: string
  readonly tenantId: TenantId
}

/**
 * Closes the channels of pages that the service would reject now: an operator has revoked the
 * publishable key or removed the origin from the tenant, in this process or in another one.
 *
 * Channels with the same key and origin share one check, so the cost depends on the number of
 * pages and not on the number of channels.
 */
export class PageRecheck implements Disposable {
  readonly #service: Service
  readonly #pages = new Map<string, { readonly page: Page; readonly sockets: Set<WebSocket> }>()
  #cancel: Cancel | undefined

  constructor(service: Service) {
    this.#service = service
  }

  /** Checks this channel from now on. */
  add(socket: WebSocket, page: Page): void {
    const id = idOf(page)
    const known = this.#pages.get(id)
    if (known === undefined) this.#pages.set(id, { page, sockets: new Set([socket]) })
    else known.sockets.add(socket)
    this.#cancel ??= this.#schedule()
  }

  /** Ends the checks of a channel that has closed. */
  remove(socket: WebSocket, page: Page): void {
    const id = idOf(page)
    const known = this.#pages.get(id)
    known?.sockets.delete(socket)
    if (known?.sockets.size === 0) this.#pages.delete(id)
    if (this.#pages.size === 0) this[Symbol.dispose]()
  }

  [Symbol.dispose](): void {
    this.#cancel?.()
    this.#cancel = undefined
  }

  #schedule(): Cancel {
    const { clock } = this.#service
    return clock.schedule(clock.now() + RECHECK_MS, () => {
      this.#cancel = this.#schedule()
      for (const { page, sockets } of this.#pages.values()) void this.#check(page, sockets)
    })
  }

  async #check(page: Page, sockets: ReadonlySet<WebSocket>): Promise<void> {
    // If the store fails, its outage says nothing about the key. The next round checks again.
    if (await mayKeepChannel(this.#service, page).catch(() => true)) return
    for (const socket of sockets) closeChannel(this.#service.clock, socket, CLOSE.unauthorized)
  }
}

function idOf({ key, origin, tenantId }: Page): string {
  return `${key ?? tenantId} ${origin}`
}
