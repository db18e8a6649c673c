import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { Agent, request } from 'node:https'
import { test } from 'node:test'
import { startCluster } from '../harness/cluster.ts'
import { skipWithoutNginx, startNginx } from '../deploy/nginx.ts'
import { addTenant } from './load.ts'
import { freePort } from '../harness/free-port.ts'

const NODES = 3
const CALLERS = 4
const MIN_CALLS = 2_000
const EXPECTED = { POST: 201, GET: 200, DELETE: 204 } as const

test('a rolling restart behind the shipped nginx fails no call of a client that never retries', {
  skip: skipWithoutNginx,
  timeout: 600_000,
}, async (t) => {
  await using cluster = await startCluster({
    store: 'postgres',
    nodes: 0,
    envOfAll: { BONDED_DRAIN_SECONDS: '2', BONDED_TRUST_PROXY: '1' },
  })
  const ports = await Promise.all(Array.from({ length: NODES }, freePort))
  // A node keeps its address, as the list of nodes in the configuration needs it.
  for (const port of ports) await cluster.addNode({ BONDED_PORT: String(port) })
  await using proxy = await startNginx(ports)
  const { server } = await addTenant(cluster)
  using backend = openBackend(proxy.port, server)

  const restarted = new AbortController()
  const roll = async () => {
    do
      for (const node of cluster.nodes) {
        assert.equal(await node.process.stop('SIGTERM'), 0)
        await node.restart()
      }
    while (backend.counts().calls < MIN_CALLS)
  }
  const work = async () => {
    while (!restarted.signal.aborted) await backend.runSession()
  }
  await Promise.all([
    roll().finally(() => restarted.abort()),
    ...Array.from({ length: CALLERS }, work),
  ])
  const { calls, failed } = backend.counts()
  t.diagnostic(`${calls} calls`)
  for (const line of proxy.logs().split('\n')) if (/ 502 /.test(line)) t.diagnostic(line)
  assert.ok(calls >= MIN_CALLS)
  assert.deepEqual(failed, [])
})

/** A backend that keeps its connections to the proxy open, and repeats no call. */
function openBackend(port: number, credential: string) {
  const agent = new Agent({ keepAlive: true, rejectUnauthorized: false })
  const failed: string[] = []
  let calls = 0
  const call = async (method: keyof typeof EXPECTED, path: string) => {
    calls += 1
    const { promise, resolve, reject } = Promise.withResolvers<{ status?: number; text: string }>()
    const headers = {
      authorization: `Bearer ${credential}`,
      ...(method === 'POST' && { 'idempotency-key': randomUUID() }),
    }
    const sent = request({ port, path: `/api/v1${path}`, method, headers, agent }, (response) => {
      let text = ''
      response.on('data', (chunk) => (text += String(chunk)))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
      response.on('error', reject)
    })
    sent.on('error', reject)
    sent.end()
    const reply = await promise.catch((failure: unknown) => ({ status: 0, text: String(failure) }))
    if (reply.status !== EXPECTED[method]) failed.push(`${method}: ${reply.status} ${reply.text}`)
    return reply
  }
  return {
    counts: () => ({ calls, failed }),
    async runSession() {
      const { status, text } = await call('POST', '/sessions')
      if (status !== EXPECTED.POST) return
      const { id } = JSON.parse(text) as { id: string }
      await call('GET', `/sessions/${id}`)
      await call('DELETE', `/sessions/${id}`)
    },
    [Symbol.dispose]: () => agent.destroy(),
  }
}
