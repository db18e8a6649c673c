import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import * as core from '../src/index.ts'
import * as simulator from '../../simulator/src/index.ts'
import { blockedSocket } from './blocked-socket.ts'
import { jumpingClock } from './clocks.ts'
import { fakeService, ORIGIN } from './fake-service.ts'
import { harness } from './harness.ts'

const blocks = [
  ...readFileSync(new URL('../README.md', import.meta.url), 'utf8').matchAll(
    /```ts\n([\s\S]*?)```/g,
  ),
].map(([, code = '']) => code)
const run = async (code: string, names: Record<string, unknown>) => {
  const body = code.replace(/^import .*$/gm, '')
  const AsyncFunction = (async () => {}).constructor as new (
    ...text: string[]
  ) => (...values: unknown[]) => Promise<unknown>
  await new AsyncFunction(...Object.keys(names), body)(...Object.values(names))
}

test('the README’s simulated phone shows the request, bonds and sees the completion', async () => {
  const service = fakeService()
  const printed: unknown[] = []
  const console = {
    log: (...values: unknown[]) => {
      printed.push(...values)
      // What the bank would do once it has the bond.
      queueMicrotask(() => setImmediate(complete))
    },
  }
  const complete = () =>
    service.session.state === 'bonded'
      ? service.change({ state: 'completed' })
      : service.session.state === 'completed' || setImmediate(complete)
  const createSimulatedPhone = () =>
    simulator.createSimulatedPhone({
      origin: ORIGIN,
      fetch: service.fetch,
      clock: jumpingClock(),
      WebSocket: blockedSocket,
    })
  await run(blocks[0] ?? '', {
    ...simulator,
    createSimulatedPhone,
    console,
    scanned: service.payload,
  })
  assert.match(String(printed[0]), /^Example Bank asks/)
  assert.equal(printed[1], 'completed')
})

/** The options that the example passes to createPhone; the harness provides its own. */
const unused = {
  origin: 0,
  signer: 0,
  sha256: 0,
  store: 0,
  fetchWithTimeout: 0,
  clock: 0,
  WebSocket: 0,
}

test('the README’s app claims, asks the user, approves and waits for the end', async () => {
  const { service, phone, strong } = harness()
  const ends: string[] = []
  await run(blocks[1] ?? '', {
    requestOf: core.requestOf,
    createPhone: () => ({
      ...phone,
      waitForEnd: async (bonded: core.ClaimedSession) => (
        service.change({ state: 'completed' }), phone.waitForEnd(bonded)
      ),
    }),
    ...unused,
    scannedText: service.link,
    userAgrees: async () => true,
    gather: strong,
    showEnd: (state: string) => ends.push(state),
  })
  assert.deepEqual(ends, ['completed'])
})
