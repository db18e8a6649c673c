import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { rawClient, rawRequest } from '../../../tests/harness/raw-http.ts'
import { cibaHarness } from './harness.ts'

test('destroys a connection that pipelines requests and reads nothing, and answers others', {
  timeout: 30_000,
}, async (t) => {
  const { issuer } = await cibaHarness(t)
  using hostile = await rawClient(Number(new URL(issuer).port), { reads: false })
  const request = rawRequest('GET /jwks')
  hostile.send(request.repeat(3_000))
  // A client that does not read notices a closed connection only by writing.
  const isWritten = () =>
    new Promise((resolve) => hostile.socket.write(request, (failure) => resolve(!failure)))
  while (await isWritten()) {
    assert.ok(!t.signal.aborted)
    // A write ends at once, so the provider in this process needs a turn of its own.
    await setImmediate()
  }
  assert.equal((await fetch(`${issuer}/jwks`)).status, 200)
})
