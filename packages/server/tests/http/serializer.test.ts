import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { ENDPOINTS } from '@bonded/contract'
import Fastify from 'fastify'
import { accept } from '../../../core/src/domain/rejection.ts'
import { serve } from '../../src/http/serve.ts'
import { harness } from '../../../../tests/harness/harness.ts'

const h = await harness()
after(() => h[Symbol.asyncDispose]())

test('drops members outside the schema from a handler’s response', async () => {
  const app = Fastify()
  const response = {
    version: '1.2.3',
    api: 'v1',
    server_time: h.now(),
    completion_secret: 'bcs_leaked',
    device: { device_token: 'dt_leaked' },
  }
  serve(ENDPOINTS.version, () => accept(['version', response as never]))(app, h.service)
  const reply = await app.inject({ method: 'GET', url: ENDPOINTS.version.path })
  assert.equal(reply.statusCode, 200)
  assert.equal(reply.json().version, '1.2.3')
  assert.doesNotMatch(reply.body, /leaked|completion_secret|device/)
})
