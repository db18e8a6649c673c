import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { WebSocketServer, type WebSocket } from 'ws'
import { loadPulseScript } from '../build/bundle.ts'
import { ScriptedSession, type SessionScript } from './scripted-session.ts'

const ENDED = ['completed', 'killed', 'expired']

/** A call that the worker received. */
export interface Call {
  readonly kind: 'get' | 'socket'
  readonly sessionId: string
  readonly query: URLSearchParams
  readonly protocols: readonly string[]
  readonly headers: IncomingMessage['headers']
}

/**
 * The worker origin of the tests: script, API and channel of protocol 9, controlled by the test.
 */
export class ScriptedWorker implements AsyncDisposable {
  origin = ''
  /**
   * `refuse` responds to the upgrade with 403, like a proxy without WebSockets; `hang` never
   * responds.
   */
  sockets: 'accept' | 'refuse' | 'hang' = 'accept'
  /**
   * A number is the status of every GET. `cut` drops the connection, and `cut once` only the first.
   */
  responses: 'well' | 'cut' | 'cut once' | number = 'well'
  /** The `Retry-After` of a rejected GET. */
  retryAfterSeconds: number | undefined
  readonly calls: Call[] = []
  /** What the widgets reported about their containers, newest last. */
  readonly reports: { readonly sessionId: string | undefined; readonly body: unknown }[] = []
  readonly #sessions = new Map<string, ScriptedSession>()
  readonly #open = new Set<WebSocket>()
  readonly #hanging = new Set<Duplex>()
  /** The paths of the hosted files that pages loaded. */
  readonly loaded: string[] = []
  /** The hosted files, by path. */
  readonly files = new Map<string, string>()
  /** How long the styles take, in milliseconds. */
  stylesDelayMs = 0
  readonly #server = createServer((request, response) => void this.#response(request, response))
  readonly #channel = new WebSocketServer({ noServer: true, handleProtocols: () => 'bonded.v1' })

  static async start(): Promise<ScriptedWorker> {
    const worker = new ScriptedWorker()
    const { source, version, files } = await loadPulseScript()
    worker.files.set('/v1/pulse.js', source).set(`/v1/pulse-${version}.js`, source)
    for (const { path, source: text } of files) worker.files.set(path, text)
    worker.#server.on('upgrade', (request, socket, head) => {
      const session = worker.#sessions.get(request.url?.split('/').at(-1) ?? '')
      const protocols = (request.headers['sec-websocket-protocol'] ?? '').split(', ')
      worker.#record('socket', request, protocols)
      if (worker.sockets === 'hang') {
        worker.#hanging.add(socket.on('error', () => {}))
        return
      }
      if (
        worker.sockets === 'refuse' ||
        !session ||
        !protocols.includes('bonded.v1') ||
        !protocols.includes(`watch.${session.watchToken}`) ||
        !protocols.some((protocol) => protocol.startsWith('key.pk_beta_'))
      )
        return void socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n')
      worker.#channel.handleUpgrade(request, socket, head, (ws) => worker.#serve(session, ws))
    })
    await new Promise<void>((resolve) => worker.#server.listen(0, '127.0.0.1', resolve))
    worker.origin = `http://127.0.0.1:${(worker.#server.address() as AddressInfo).port}`
    return worker
  }

  create(script: SessionScript = {}): ScriptedSession {
    const session = new ScriptedSession(this.origin, script)
    this.#sessions.set(session.id, session)
    return session
  }

  purge(session: ScriptedSession): void {
    this.#sessions.delete(session.id)
  }

  /** Drops every channel without a close frame. A browser sees code 1006. */
  cutSockets(): void {
    for (const ws of this.#open) ws.terminate()
  }

  callsOf(kind: Call['kind'], session: ScriptedSession): Call[] {
    return this.calls.filter((call) => call.kind === kind && call.sessionId === session.id)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cutSockets()
    for (const socket of this.#hanging) socket.destroy()
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #serve(session: ScriptedSession, ws: WebSocket): void {
    const send = (frame: Record<string, unknown>) => {
      ws.send(JSON.stringify(frame))
      if (ENDED.includes(session.state)) ws.close(1000)
    }
    this.#open.add(ws)
    const leave = session.listen(send)
    ws.on('close', () => {
      leave()
      this.#open.delete(ws)
    })
    send(session.hello())
  }

  #record(kind: Call['kind'], request: IncomingMessage, protocols: string[] = []): string {
    const url = new URL(request.url ?? '', this.origin)
    const sessionId = url.pathname.split('/').at(-1) ?? ''
    this.calls.push({
      kind,
      sessionId,
      query: url.searchParams,
      protocols,
      headers: request.headers,
    })
    return sessionId
  }

  async #response(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.setHeader('Access-Control-Allow-Origin', request.headers.origin ?? '*')
    if (request.method === 'OPTIONS') {
      response.setHeader(
        'Access-Control-Allow-Headers',
        'authorization, content-type, x-bond-watch',
      )
      return void response.writeHead(204).end()
    }
    const file = this.files.get(request.url ?? '')
    if (file !== undefined) {
      this.loaded.push(request.url ?? '')
      if (request.url?.startsWith('/v1/style/')) await elapsed(this.stylesDelayMs)
      return void response.setHeader('Content-Type', contentType(request.url ?? '')).end(file)
    }
    if (request.method === 'POST') {
      const body = JSON.parse(Buffer.concat(await request.toArray()).toString())
      this.reports.push({ sessionId: request.url?.split('/').at(-2), body })
      return void response.writeHead(204).end()
    }
    const session = this.#sessions.get(this.#record('get', request))
    if (this.responses === 'cut') return void request.socket.destroy()
    if (this.responses === 'cut once') {
      this.responses = 'well'
      return void request.socket.destroy()
    }
    if (this.retryAfterSeconds !== undefined) {
      response.setHeader('Access-Control-Expose-Headers', 'Retry-After')
      response.setHeader('Retry-After', this.retryAfterSeconds)
    }
    if (this.responses !== 'well')
      return sendJson(response, this.responses, {
        error: { code: 'scripted', message: 'As the test says.', requestId: 'req_test' },
      })
    if (
      !session ||
      request.headers['x-bond-watch'] !== session.watchToken ||
      !request.headers.authorization?.startsWith('Bearer pk_beta_')
    )
      return sendJson(response, 404, {
        error: {
          code: 'not_found',
          message: 'The session does not exist.',
          requestId: 'req_test',
        },
      })
    await changed(session, this.calls.at(-1)!.query, request)
    sendJson(response, 200, session.view())
  }
}

function elapsed(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

/** Waits as `wait_ms` and `after` request. */
async function changed(
  session: ScriptedSession,
  query: URLSearchParams,
  request: IncomingMessage,
): Promise<void> {
  const waitMs = Number(query.get('wait_ms') ?? 0)
  if (waitMs === 0 || session.seq > Number(query.get('after') ?? 0)) return
  await new Promise<void>((resolve) => {
    const done = () => {
      clearTimeout(timer)
      leave()
      resolve()
    }
    const timer = setTimeout(done, waitMs)
    const leave = session.listen((frame) => frame['type'] !== 'challenge' && done())
    request.socket.once('close', done)
  })
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  response
    .writeHead(status, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' })
    .end(JSON.stringify(body))
}

function contentType(path: string): string {
  const types: Record<string, string> = { js: 'text/javascript', css: 'text/css' }
  return types[path.split('.').at(-1) ?? ''] ?? 'application/json'
}
