import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { BenchReady } from '../bench-service.ts'
import { type Bond, ServiceCalls } from '../phones.ts'
import type { Ready } from '../process.ts'
import type { TestPhone } from '../../tests/harness/phone.ts'

/** A code of the size that the widget draws: version 8, half of its modules dark. */
const CODE_SIZE = 57
/** About as many bytes as the service's first frame. */
const HELLO_BYTES = 900

/**
 * What both pages share: `drawn` and `flipped` hold the time at which the browser has painted a
 * change, in milliseconds of the clock that all processes share.
 */
const CLOCK = `
  const now = () => performance.timeOrigin + performance.now()
  const painted = () => new Promise((done) => requestAnimationFrame(() => {
    const { port1, port2 } = new MessageChannel()
    port1.onmessage = () => done(now())
    port2.postMessage(0)
  }))
  const seen = (holds) => new Promise((done) => {
    const look = () => holds() ? painted().then(done) : requestAnimationFrame(look)
    look()
  })`

/** A bank: its backend creates sessions, and it has a page with the widget and a bare page. */
export class Site implements Disposable {
  readonly #server: Server
  readonly #phone: TestPhone
  readonly #calls: ServiceCalls
  readonly #pages: Readonly<Record<string, string>>
  /** The session that a page requested last. */
  bond!: Bond

  private constructor(server: Server, given: Started, phone: TestPhone) {
    const { service, bare } = given
    this.#server = server
    this.#phone = phone
    this.#calls = new ServiceCalls(service)
    this.#pages = { '/widget': widgetPage(service), '/bare': barePage(bare) }
    server.on('request', (request, response) => {
      response.setHeader('content-type', 'text/html')
      if (request.method !== 'POST') return void response.end(this.#pages[request.url ?? ''])
      void this.#calls.create(this.#phone).then((bond) => {
        this.bond = bond
        const { completion_secret: _secret, ...shown } = bond.created
        response.end(JSON.stringify(shown))
      })
    })
  }

  /** Listens before the service starts, because a publishable key names its pages' origins. */
  static async listen(): Promise<{ origin: string; lead: (to: Started) => Promise<Site> }> {
    const server = createServer()
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    return {
      origin: `http://localhost:${(server.address() as AddressInfo).port}`,
      lead: async (to) => new Site(server, to, await new ServiceCalls(to.service).enrol()),
    }
  }

  [Symbol.dispose](): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }
}

interface Started {
  readonly service: BenchReady
  readonly bare: Ready
}

function page(body: string): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Bank</title>
<link rel="icon" href="data:,"><main><h1>Loan</h1>${body}</main></html>`
}

function widgetPage({ port, publishableKey }: BenchReady): string {
  const setup = { publishableKey, workflow: 'w', sessionEndpoint: '/bond-session' }
  return page(`<script src="http://127.0.0.1:${port}/v1/pulse.js"></script>
<div data-pulse-widget style="min-height:440px"></div><script>${CLOCK}
  Pulse.init(${JSON.stringify(setup)})
  const find = (selector) => document.querySelector('[data-pulse-widget]').shadowRoot?.querySelector(selector)
  const isDrawn = () => find('.qr path:last-child')?.getAttribute('d') &&
    getComputedStyle(find('.qr path:last-child')).visibility === 'visible' &&
    getComputedStyle(find('.card')).opacity === '1'
  const isLoaded = () => performance.getEntriesByType('resource').some(({ name }) => name.includes('/checks/'))
  globalThis.show = async () => {
    await seen(isLoaded)
    const from = now()
    void Pulse.requireBond({ action: 'a' })
    const drawn = await seen(isDrawn)
    globalThis.flipped = seen(() => find('.card[data-screen=bonded]'))
    return drawn - from
  }
</script>`)
}

/** Makes the same requests, and draws a finished picture: no checks, no states, no texts. */
function barePage({ port }: Ready): string {
  const path = Array.from({ length: CODE_SIZE }, (_, y) =>
    Array.from({ length: CODE_SIZE / 2 }, (__, x) => `M${2 * x} ${y}h1v1h-1z`).join(''),
  ).join('')
  const picture = `<svg viewBox="0 0 ${CODE_SIZE} ${CODE_SIZE}" width="228"><path d="${path}"/></svg>`
  return page(`<div id="box" style="min-height:440px"></div><script>${CLOCK}
  globalThis.show = async () => {
    const from = now()
    const { id } = await (await fetch('/bond-session', { method: 'POST' })).json()
    const socket = new WebSocket('ws://127.0.0.1:${port}/' + id + '?${HELLO_BYTES}', 'bonded.v1')
    await new Promise((done) => { socket.onmessage = done })
    box.innerHTML = '${picture}'
    const drawn = await painted()
    globalThis.flipped = new Promise((done) => {
      socket.onmessage = () => { box.textContent = 'Bonded'; painted().then(done) }
    })
    return drawn - from
  }
</script>`)
}
