import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { DemoPhone } from '../src/phone/demo-phone.ts'
import type { ShownCode } from '../src/sandbox.ts'

const code = (number: number, isWatched = true): ShownCode => ({
  session_id: `s${number}`,
  createdAtMs: number,
  link: `https://service.example/bond?session_id=s${number}`,
  isWatched,
})

/** A phone whose camera sees `codes.newest`, and the links that it has scanned. */
async function phoneBefore(codes: { newest: ShownCode }) {
  mock.timers.enable({ apis: ['setInterval'] })
  const scanned: unknown[] = []
  const phone = new DemoPhone({
    phone: {
      scan: (link) => {
        scanned.push(link)
        return new Promise(() => undefined)
      },
    },
    passkey: { answer: () => assert.fail('no request waits for the browser') },
    newestCode: async () => codes.newest,
    onChange: () => undefined,
  })
  mock.timers.tick(1_000)
  await setImmediate()
  assert.equal(phone.view.screen, 'code')
  return {
    phone,
    scanned,
    [Symbol.dispose]() {
      phone[Symbol.dispose]()
      mock.timers.reset()
    },
  }
}

test('scans the QR code that the newest page shows, also if it appeared just before', async () => {
  const codes = { newest: code(1) }
  using shown = await phoneBefore(codes)
  codes.newest = code(2)
  assert.ok(shown.phone.press('scan'))
  await setImmediate()
  assert.deepEqual(shown.scanned, [code(2).link])
  assert.equal(shown.phone.view.screen, 'busy')
})

test('uses the passkey only while a request waits for the browser', async () => {
  using shown = await phoneBefore({ newest: code(1) })
  assert.equal(shown.phone.usePasskey({}), undefined)
  assert.equal(shown.phone.view.screen, 'code')
})

test('scans no QR code that no page shows yet', async () => {
  const codes = { newest: code(1) }
  using shown = await phoneBefore(codes)
  codes.newest = code(2, false)
  assert.ok(shown.phone.press('scan'))
  await setImmediate()
  assert.deepEqual(shown.scanned, [])
  assert.equal(shown.phone.view.screen, 'idle')
})
