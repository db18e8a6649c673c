import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { once } from 'node:events'
import { test } from 'node:test'
import {
  guardConnections,
  MAX_PENDING_REQUESTS,
  WRITE_STALL_MS,
} from '../../../src/http/connection/connection-guard.ts'
import { harness } from '../../../../../tests/harness/harness.ts'
import { machine } from '../../../../../tests/harness/process.ts'
import { rawClient, rawRequest } from '../../../../../tests/harness/raw-http.ts'

const MIB = 1024 * 1024
const OPENAPI = rawRequest('GET /api/v1/openapi.json')

function rssBytes(pid: number): number {
  const [, kilobytes] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) * 1024
}

function written(socket: Socket): Promise<boolean> {
  return new Promise((resolve) => socket.write('G', (failure) => resolve(!failure)))
}

test('keeps memory bounded while 20 sockets pipeline 1,300 requests each and read nothing', {
  timeout: 60_000,
}, async () => {
  using m = machine()
  await using service = await m.serve()
  const port = Number(new URL(service.origin).port)
  const pid = service.child.pid ?? 0
  assert.equal((await fetch(`${service.origin}/api/v1/openapi.json`)).status, 200)
  const idle = rssBytes(pid)
  let peak = 0
  const sampling = setInterval(() => {
    peak = Math.max(peak, rssBytes(pid))
  }, 5)
  for (let round = 0; round < 5; round++) {
    const clients = await Promise.all(
      Array.from({ length: 20 }, () => rawClient(port, { reads: false })),
    )
    for (const client of clients) client.send(OPENAPI.repeat(1_300))
    // A client that does not read notices a closed connection only by writing.
    for (const { socket } of clients) while (await written(socket)) assert.ok(!socket.destroyed)
  }
  clearInterval(sampling)
  assert.ok(peak < idle + 150 * MIB, `${idle / MIB} MiB idle, ${peak / MIB} MiB peak`)
  assert.equal((await fetch(`${service.origin}/health/alive`)).status, 200)
})

test(`serves ${MAX_PENDING_REQUESTS} pending requests on a connection, and destroys it at one more`, async () => {
  await using h = await harness()
  const session = await h.create()
  const poll = rawRequest(`GET /api/v1/sessions/${session.id}?wait_ms=20000`, {
    Authorization: `Bearer ${h.shop.server}`,
  })
  using good = await rawClient(h.running.port)
  good.send(poll.repeat(MAX_PENDING_REQUESTS))
  using hostile = await rawClient(h.running.port)
  hostile.send(poll.repeat(MAX_PENDING_REQUESTS + 1))
  assert.equal(await hostile.closed, '')
  await h.kill(session)
  await good.until('"state":"killed"', MAX_PENDING_REQUESTS)
})

test('serves any number of sequential requests on a connection', async () => {
  await using h = await harness()
  using client = await rawClient(h.running.port)
  for (let count = 1; count <= 40; count++) {
    client.send(rawRequest('GET /health/alive'))
    await client.until('"status":"alive"', count)
  }
})

test('destroys a connection whose client reads nothing for 10 s, and keeps one that reads slowly', async () => {
  let nowMs = 0
  const big = Buffer.alloc(8 * MIB)
  const server = createServer((_request, response) => response.end(big))
  using guard = guardConnections(server, () => nowMs)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const pass = (ms: number) => {
    nowMs += ms
    guard.sweep()
  }
  const sockets = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1')] as const
  const [stalled, slow] = sockets
  for (const socket of sockets) socket.on('error', () => {}).write(rawRequest('GET /'))
  for (const socket of sockets) await once(socket, 'readable')
  pass(0)
  pass(WRITE_STALL_MS - 1)
  // Reads enough that the kernel accepts more of the response from the service.
  for (let read = 0; read < 6 * MIB; ) {
    const chunk = slow.read() as Buffer | null
    if (chunk === null) await once(slow, 'readable')
    else read += chunk.length
  }
  pass(1)
  const gone = new Promise((resolve) => stalled.once('close', resolve))
  stalled.resume()
  await gone
  while (slow.read() === null) await once(slow, 'readable')
  assert.equal(slow.destroyed, false)
  for (const socket of sockets) socket.destroy()
  server.close()
})
