import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pipelineUnread, rawClient, rawRequest } from '../../../tests/harness/raw-http.ts'
import { cibaHarness } from './harness.ts'

test('destroys a connection that pipelines requests and reads nothing, and answers others', {
  timeout: 30_000,
}, async (t) => {
  const { issuer } = await cibaHarness(t)
  const { port } = new URL(issuer)
  await pipelineUnread(Number(port), { request: rawRequest('GET /jwks'), signal: t.signal })
  assert.equal((await fetch(`${issuer}/jwks`)).status, 200)
})

test('stops beside a connection that has sent nothing', { timeout: 30_000 }, async (t) => {
  const ciba = await cibaHarness(t)
  using silent = await rawClient(Number(new URL(ciba.issuer).port))
  assert.equal((await fetch(`${ciba.issuer}/jwks`)).status, 200)
  await ciba.restart()
  assert.equal(await silent.closed, '')
})
