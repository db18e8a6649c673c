import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pipelineUnread, rawRequest } from '../../../tests/harness/raw-http.ts'
import { cibaHarness } from './harness.ts'

test('destroys a connection that pipelines requests and reads nothing, and answers others', {
  timeout: 30_000,
}, async (t) => {
  const { issuer } = await cibaHarness(t)
  const { port } = new URL(issuer)
  await pipelineUnread(Number(port), { request: rawRequest('GET /jwks'), signal: t.signal })
  assert.equal((await fetch(`${issuer}/jwks`)).status, 200)
})
