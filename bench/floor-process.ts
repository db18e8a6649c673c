import { createPublicKey, type KeyObject, randomBytes, verify } from 'node:crypto'
import { rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type WebSocket, WebSocketServer } from 'ws'
import { respondToRequests, type Ready, workFolder } from './process.ts'

/**
 * The floor: the same six calls with the same bodies over bare node:http and ws, two P-256
 * verifications, five committed writes (grouped by turn, as in the service) and five frames. It
 * checks nothing and has no states.
 */
const folder = workFolder()
const database = new DatabaseSync(join(folder, 'floor.db'))
database.exec(
  'pragma journal_mode = wal; pragma synchronous = full; create table entry (id text, body text)',
)
const insert = database.prepare('insert into entry (id, body) values (?, ?)')
let group: { id: string; body: string; done: () => void }[] = []

function write(id: string, body: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  if (group.length === 0) setImmediate(commit)
  group.push({ id, body, done: resolve })
  return promise
}

function commit(): void {
  const writes = group
  group = []
  database.exec('begin immediate')
  for (const { id, body } of writes) insert.run(id, body)
  database.exec('commit')
  for (const { done } of writes) done()
}

/**
 * The service's response to each call, which the floor replays, and the key with which the phone
 * signs.
 */
let responses: Readonly<Record<string, object>> = {}
let key: KeyObject | undefined
const watchers = new Map<string, WebSocket>()
const frame = {
  v: 1,
  type: 'hint',
  state: 'pending',
  hint: 'scanned',
  at: new Date().toISOString(),
  expires_in_ms: 300_000,
  data: {},
}

async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { url = '', method } = request
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const text = Buffer.concat(chunks).toString('utf8')
  const body =
    text === ''
      ? {}
      : (JSON.parse(text) as { session_id?: string; app_attest?: Record<string, string> })
  const call = callOf(method, url)
  const id =
    call === 'create'
      ? `sess_${randomBytes(11).toString('hex')}`
      : (body.session_id ?? url.split('/')[4] ?? '')
  const { app_attest } = body
  if (app_attest !== undefined && key !== undefined) {
    const signed = Buffer.concat([
      Buffer.from(app_attest.authenticator_data ?? '', 'base64url'),
      Buffer.from(app_attest.client_data_hash ?? '', 'base64url'),
    ])
    if (!verify('sha256', signed, key, Buffer.from(app_attest.signature ?? '', 'base64url')))
      throw new Error('the floor was sent a bad signature')
  }
  const reply = JSON.stringify({ ...responses[call], id })
  if (call !== 'get') await write(id, reply)
  response
    .writeHead(call === 'create' ? 201 : 200, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(reply),
    })
    .end(reply)
  if (call !== 'create' && call !== 'get')
    watchers.get(id)?.send(JSON.stringify({ ...frame, session_id: id, seq: 1 }))
}

function callOf(method: string | undefined, url: string): string {
  if (method === 'GET') return 'get'
  const last = url.split('/').at(-1)
  return last === 'sessions' ? 'create' : (last ?? '')
}

const server = createServer((request, response) => void respond(request, response))
const channel = new WebSocketServer({
  noServer: true,
  perMessageDeflate: false,
  handleProtocols: () => 'bonded.v1',
})
server.on('upgrade', (request, socket, head) => {
  const id = request.url?.split('/')[2] ?? ''
  channel.handleUpgrade(request, socket, head, (webSocket) => {
    watchers.set(id, webSocket)
    webSocket.once('close', () => watchers.delete(id))
    webSocket.send(
      JSON.stringify({ ...frame, type: 'hello', data: responses.get, session_id: id, seq: 1 }),
    )
  })
})
process.on('message', (message: { responses?: typeof responses; publicKey?: string }) => {
  if (message.responses) responses = message.responses
  if (message.publicKey)
    key = createPublicKey({
      key: Buffer.from(message.publicKey, 'base64url'),
      format: 'der',
      type: 'spki',
    })
})
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  respondToRequests({ port, credential: 'none' } satisfies Ready, {
    end: () => rmSync(folder, { recursive: true, force: true }),
  })
})
