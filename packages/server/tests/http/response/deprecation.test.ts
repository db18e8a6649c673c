import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Endpoint, ENDPOINTS } from '@bonded/contract'
import Fastify from 'fastify'
import { accept } from '@bonded/core/domain/rejection'
import { serve } from '../../../src/http/serve.ts'
import { harness } from '../../../../../tests/harness/harness.ts'

test('says that an endpoint is deprecated, when it may end, and what to read, in every response', async () => {
  await using h = await harness()
  const old = {
    ...ENDPOINTS.version,
    path: '/old',
    deprecation: { since: '2027-01-31', sunset: '2028-01-31', link: 'https://bond.example/old' },
  } satisfies Endpoint
  await using app = Fastify()
  serve(old, () => accept(['version', { version: '1' }] as never))(app, h.service)
  const { headers } = await app.inject({ url: '/old' })
  assert.deepEqual(
    [headers.deprecation, headers.sunset, headers.link],
    [
      '@1801353600',
      'Mon, 31 Jan 2028 00:00:00 GMT',
      '<https://bond.example/old>; rel="deprecation"; type="text/html"',
    ],
  )
  assert.ok(!('deprecation' in (await h.call('GET', '/version')).headers))
})
