import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { WebSocket } from 'ws'

const PLACES = [process.env.FIREFOX_PATH, '/usr/bin/firefox-esr', '/usr/bin/firefox']
const path = PLACES.find((place) => place !== undefined && existsSync(place))

/** Why the Firefox tests are skipped, or false when they run. */
export const firefoxMissing: string | false =
  path === undefined
    ? 'NO FIREFOX: install it (apt-get install firefox-esr) or name one in FIREFOX_PATH; the widget is NOT tested in it'
    : false

/** Longer than any wait of these tests, on a busy machine. */
const LIMIT_MS = 40_000

/** One page of a headless Firefox, driven by WebDriver BiDi. */
export class Firefox implements AsyncDisposable {
  readonly #socket: WebSocket
  readonly #stop: () => Promise<void>
  readonly #responses = new Map<number, (response: BidiResponse) => void>()
  #context = ''
  #newestId = 0

  private constructor(socket: WebSocket, stop: () => Promise<void>) {
    this.#socket = socket
    this.#stop = stop
    socket.on('message', (data) => {
      const response = JSON.parse(String(data)) as BidiResponse
      this.#responses.get(response.id)?.(response)
      this.#responses.delete(response.id)
    })
  }

  static async start(): Promise<Firefox> {
    const profile = mkdtempSync(join(tmpdir(), 'bonded-firefox-'))
    const options = ['--headless', '--no-remote', '--remote-debugging-port=0', '--profile', profile]
    const process = spawn(path ?? '', options, { stdio: ['ignore', 'ignore', 'pipe'] })
    const stop = async () => {
      const ended = once(process, 'exit')
      process.kill()
      await ended
      rmSync(profile, { recursive: true, force: true, maxRetries: 3 })
    }
    for await (const line of createInterface(process.stderr)) {
      const url = /WebDriver BiDi listening on (ws:\S+)/.exec(line)?.[1]
      if (url === undefined) continue
      // An unread pipe would block the browser.
      process.stderr.resume()
      const socket = new WebSocket(`${url}/session`)
      await once(socket, 'open')
      const firefox = new Firefox(socket, stop)
      await firefox.#send('session.new', { capabilities: {} })
      return firefox
    }
    throw new Error('Firefox ended before it listened')
  }

  /** Opens an address in a new tab. */
  async goto(url: string): Promise<void> {
    const { context } = await this.#send('browsingContext.create', { type: 'tab' })
    this.#context = String(context)
    await this.#send('browsingContext.navigate', { context, url, wait: 'complete' })
  }

  /**
   * Evaluates an expression, and waits for its promise.
   *
   * @returns the value by way of JSON
   */
  async evaluate<T>(expression: string): Promise<T> {
    const response = await this.#send('script.evaluate', {
      expression: `Promise.resolve(${expression}).then((value) => JSON.stringify(value) ?? 'null')`,
      target: { context: this.#context },
      awaitPromise: true,
    })
    const { result, exceptionDetails } = response as {
      result?: { value: string }
      exceptionDetails?: { text: string }
    }
    if (result === undefined) throw new Error(exceptionDetails?.text)
    return JSON.parse(result.value) as T
  }

  /** Waits until an expression is true on the page. */
  async until(expression: string): Promise<void> {
    const isMet = await this.evaluate<boolean>(`new Promise((resolve) => {
      const look = () => {
        if (${expression}) resolve(true)
        else if (performance.now() - from > ${LIMIT_MS}) resolve(false)
        else requestAnimationFrame(look)
      }
      const from = performance.now()
      look()
    })`)
    if (!isMet) throw new Error(`never true: ${expression}`)
  }

  async #send(method: string, params: object): Promise<Record<string, unknown>> {
    const id = (this.#newestId += 1)
    const { promise, resolve } = Promise.withResolvers<BidiResponse>()
    this.#responses.set(id, resolve)
    this.#socket.send(JSON.stringify({ id, method, params }))
    const { result, error, message } = await promise
    if (result === undefined) throw new Error(`${method}: ${error}: ${message}`)
    return result
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket.terminate()
    await this.#stop()
  }
}

interface BidiResponse {
  readonly id: number
  readonly result?: Record<string, unknown>
  readonly error?: string
  readonly message?: string
}
