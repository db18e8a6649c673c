import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readJson } from '../src/form/read-json.ts'

const post = (body: ReadableStream) =>
  new Request('https://shop.example/applications', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
    duplex: 'half',
  })

test('reads no body that has not arrived in time, and cancels it', async () => {
  let cancelled = false
  const { promise: waits, resolve } = Promise.withResolvers<void>()
  const dripping = new ReadableStream({
    start: (controller) => controller.enqueue(new TextEncoder().encode('{}')),
    pull: () => {
      resolve()
      // The next byte never comes.
      return new Promise<void>(() => {})
    },
    cancel: () => void (cancelled = true),
  })
  const late = new AbortController()
  const form = readJson(post(dripping), late.signal)
  await waits
  late.abort()
  assert.deepEqual([await form, cancelled], [undefined, true])
})

test('cancels a body that is larger than any form', async () => {
  let cancelled = false
  const endless = new ReadableStream({
    pull: (controller) => controller.enqueue(new Uint8Array(4_096).fill(32)),
    cancel: () => void (cancelled = true),
  })
  assert.deepEqual([await readJson(post(endless)), cancelled], [undefined, true])
})

test('reads a form that arrives in time', async () => {
  const body = new Blob(['{"amount":', '1}']).stream()
  assert.deepEqual(await readJson(post(body)), { amount: 1 })
})
