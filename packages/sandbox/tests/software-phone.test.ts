import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { test } from 'node:test'
import * as demo from '@bonded/example-demo'
import { harness } from '../../../tests/harness/harness.ts'
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
