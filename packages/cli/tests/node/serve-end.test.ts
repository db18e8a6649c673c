import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { test } from 'node:test'
import { closeOnSignal } from '../../src/node/serve.ts'
import { COMMAND, machine } from '../../../../tests/harness/process.ts'

test('ends at once on SIGTERM while it starts, with an exit code, as process 1 must', async (t) => {
  using m = machine()
  // A database that accepts connections and never responds.
  const silent = createServer().listen(0, '127.0.0.1')
  t.after(() => silent.close())
  await once(silent, 'listening')
  const { port } = silent.address() as AddressInfo
  const { NODE_TEST_CONTEXT: _testContext, ...inherited } = process.env
  const child = spawn(process.execPath, [...COMMAND, 'serve', '--port', '0'], {
    env: {
      ...inherited,
      BONDED_DATA_DIR: m.folder,
      BONDED_ROOT_KEYS: 'k1:AbCdEfGhIjKlMnOpQrStUvWxYz012345678-_aBcDeE',
      BONDED_DATABASE_URL: `postgres://bonded@127.0.0.1:${port}/bonded`,
    },
    stdio: 'ignore',
  })
  const ended = once(child, 'exit') as Promise<[number | null]>
  const connected = once(silent, 'connection')
  const [socket] = await Promise.race([
    connected,
    ended.then(([code]) => assert.fail(`serve ended with ${code}`)),
  ])
  socket.on('error', () => undefined)
  child.kill('SIGTERM')
  assert.deepEqual(await ended, [1, null])
  socket.destroy()
})

/** Sends the process a signal as soon as it has written that it serves. */
const SIGNAL_AT_READY = `data:text/javascript,${encodeURIComponent(`
  const { write } = process.stdout
  process.stdout.write = function (...args) {
    const written = write.apply(this, args)
    if (String(args[0]).includes('"ready"')) process.kill(process.pid, 'SIGTERM')
    return written
  }
`)}`

test('shuts down on a SIGTERM that arrives while it reports that it serves', () => {
  using m = machine({
    program: ['--import', SIGNAL_AT_READY, ...COMMAND],
    env: { BONDED_PORT: '0' },
  })
  const { error, status, stdout, stderr } = m.runAlone('serve', '--json')
  assert.match(stdout, /"ready"/)
  // The timeout sends the signal again.
  assert.equal(error, undefined)
  assert.equal(status, 0, stderr)
})

test('ends the process within 25 s of SIGTERM, although a part does not end', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const exits: unknown[] = []
  t.mock.method(process, 'exit', (code: unknown) => void exits.push(code))
  const written: string[] = []
  t.mock.method(process.stderr, 'write', (text: string) => written.push(text) > 0)
  const hanging = { [Symbol.asyncDispose]: () => new Promise<void>(() => undefined) }
  // The test runner has listeners of its own.
  const others = process.listeners('SIGTERM')
  closeOnSignal({ json: true }, hanging)
  const [close] = process.listeners('SIGTERM').filter((listener) => !others.includes(listener))
  close?.('SIGTERM')
  t.mock.timers.tick(20_000)
  assert.deepEqual(exits, [])
  t.mock.timers.tick(4_999)
  assert.deepEqual(exits, [1])
  assert.match(
    written.join(''),
    /^error: .*Everything that the service acknowledged is stored\.\n$/,
  )
})
