import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { Secret } from '@bonded/contract'
import { ServiceClient } from '../src/service-client.ts'

test('a service that never answers is unavailable after five seconds', {
  timeout: 30_000,
}, async (t) => {
  const limits: [ms: number, limit: AbortController][] = []
  t.mock.method(AbortSignal, 'timeout', (ms: number) => {
    const limit = new AbortController()
    limits.push([ms, limit])
    return limit.signal
  })
  // The time passes once the request has arrived.
  const silent = createServer(() => {
    for (const [ms, limit] of limits) if (ms === 5_000) limit.abort()
  })
  silent.listen(0, '127.0.0.1')
  await once(silent, 'listening')
  t.after(() => {
    silent.closeAllConnections()
    silent.close()
  })
  const origin = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`
  const client = new ServiceClient(origin, new Secret('sk_beta_x'))
  for (const call of [() => client.requireReceipts(), () => client.receipt('sess_x')])
    await assert.rejects(call(), { code: 'service_unavailable' })
})
