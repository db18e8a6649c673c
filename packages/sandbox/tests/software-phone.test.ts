import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import * as demo from '@bonded/example-demo'
import type { SimulatedPhone } from '@bonded/simulator'
import { harness } from '../../../tests/harness/harness.ts'
import { listenForKeys } from '../src/dev/terminal-keys.ts'
import { softwarePhonePages } from '../src/dev/software-phone.ts'
import { phoneInBrowser } from '../src/try/phone-in-browser.ts'

/** The status of a page, asked for under a host name. */
async function statusOf(port: number, path: string, host: string): Promise<number | undefined> {
  const request = get({ port, path, headers: { host, connection: 'close' } })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  response.resume()
  return response.statusCode
}

test('the phone of the demo is not found while the demo does not listen', async () => {
  await using h = await harness({ addPages: softwarePhonePages(demo, () => undefined) })
  assert.equal(await statusOf(h.running.port, '/demo/phone', 'localhost'), 404)
})

test('the address of the phone leads on under its own host name only', async () => {
  const origin = 'http://localhost:8787'
  await using h = await harness({ addPages: await phoneInBrowser(origin) })
  assert.equal(await statusOf(h.running.port, '/phone', 'localhost:8787'), 302)
  assert.equal(await statusOf(h.running.port, '/phone', 'rebound.example:8787'), 404)
})

test('a key of the terminal answers the newest request, and only an approval waits for its end', async (t) => {
  await using h = await harness()
  const stdin = Object.assign(new EventEmitter(), { setRawMode: t.mock.fn() })
  t.mock.getter(process, 'stdin', () => stdin)
  // It has no end, so that the terminal of the tests shows none.
  const given: Parameters<SimulatedPhone['run']>[] = []
  const run: SimulatedPhone['run'] = (...call) => {
    given.push(call)
    return new Promise(() => {})
  }
  listenForKeys({
    service: () => h.service,
    tenantId: h.shop.tenant.id,
    phone: { run } as Partial<SimulatedPhone> as SimulatedPhone,
  })
  await h.create()
  h.clock.advance(1)
  const { id } = await h.create()
  const answers = [
    ['a', 'approve', true],
    ['x', undefined, undefined],
    ['d', 'decline', false],
    ['n', 'not-me', false],
  ] as const
  for (const [key] of answers) stdin.emit('data', Buffer.from(key))
  while (given.length < 3) await setImmediate()
  const asked = given.map(([link, outcome, options]) => {
    assert.ok(String(link).includes(id), 'the newest request')
    return [outcome, options?.waitForCompletion]
  })
  const expected = answers.filter(([, outcome]) => outcome !== undefined)
  assert.deepEqual(
    asked,
    expected.map(([, ...answer]) => answer),
  )
})
