import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { rawClient, rawRequest } from '../../../tests/harness/raw-http.ts'
import { setup } from './setup.ts'

test('destroys a connection that pipelines requests and reads nothing, and answers others', {
  timeout: 20_000,
}, async (t) => {
  const { port, visitor } = await setup(t)
  using hostile = await rawClient(port, { reads: false })
  const request = rawRequest('GET /sign-out', { Host: `localhost:${port}` })
  hostile.send(request.repeat(3_000))
  // A client that does not read notices a closed connection only by writing.
  const isWritten = () =>
    new Promise((resolve) => hostile.socket.write(request, (failure) => resolve(!failure)))
  while (await isWritten()) {
    assert.ok(!t.signal.aborted)
    // A write ends at once, so the console in this process needs a turn of its own.
    await setImmediate()
  }
  assert.equal((await visitor().step('/')).status, 303)
})

test('answers others while 40 forms arrive, and logs none of those that end early', async (t) => {
  const { origin, port, lines, running, visitor } = await setup(t)
  const form = rawRequest('POST /sign-out', {
    Host: `localhost:${port}`,
    Origin: origin,
    'Content-Type': 'application/x-www-form-urlencoded',
    'Content-Length': 10,
    Expect: '100-continue',
  })
  const clients = await Promise.all(Array.from({ length: 40 }, () => rawClient(port)))
  try {
    for (const client of clients) client.send(`${form}t`)
    // The console has begun to read each of them.
    await Promise.all(clients.map(({ until }) => until('100 Continue')))
    assert.equal((await visitor().step('/')).status, 303)
  } finally {
    for (const { socket } of clients) socket.destroy()
  }
  await running[Symbol.asyncDispose]()
  await setImmediate()
  assert.deepEqual(lines, [])
})

test('closes a connection whose headers do not arrive, soon after their time', {
  // Node’s own check of them is every 30 seconds.
  timeout: 20_000,
}, async (t) => {
  const { port } = await setup(t, { headersTimeoutMs: 1 })
  using slow = await rawClient(port)
  slow.send('GET / HTTP/1.1\r\nHost: x\r\n')
  assert.match(await slow.closed, /^HTTP\/1\.1 408 /)
})
