import assert from 'node:assert/strict'
import { test } from 'node:test'
import { closeOnSignal } from '../../src/cli/serve.ts'

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
