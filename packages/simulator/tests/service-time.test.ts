import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PhoneError } from '@bonded/phone'
import { serviceTime } from '../src/service-time.ts'

const ORIGIN = 'https://bond.example'
const answering = (status: number, body: string) => async () => new Response(body, { status })

test('reads the time of the service from its version', async () => {
  const urls: string[] = []
  const time = await serviceTime(async (url) => {
    urls.push(url)
    return new Response('{"server_time":"2026-11-28T12:00:00.000Z"}')
  }, ORIGIN)
  assert.equal(time, Date.UTC(2026, 10, 28, 12))
  assert.deepEqual(urls, [`${ORIGIN}/version`])
})

for (const [title, fetch, code] of [
  ['no response', () => Promise.reject(new TypeError('fetch failed')), 'unreachable'],
  ['a rejection', answering(429, '{}'), 'refused'],
  ['a page that is not JSON', answering(200, '<html>'), 'answer_unreadable'],
  ['a response without a time', answering(200, '{}'), 'answer_unreadable'],
  ['a time that cannot be read', answering(200, '{"server_time":"soon"}'), 'answer_unreadable'],
] as const)
  test(`fails as ${code} on ${title}`, async () => {
    await assert.rejects(
      serviceTime(fetch, ORIGIN),
      (failure) => failure instanceof PhoneError && failure.code === code,
    )
  })
