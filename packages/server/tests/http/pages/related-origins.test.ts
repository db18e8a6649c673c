import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Harness, harness } from '../../../../../tests/harness/harness.ts'

const WORKFLOWS = [
  { name: 'bound', actions: ['act'], require: ['browser' as const] },
  { name: 'free', actions: ['act'] },
]
const read = (h: Harness) => fetch(`http://127.0.0.1:${h.running.port}/.well-known/webauthn`)
const listOf = async (h: Harness) => (await read(h)).json()

test('lists the origins of the tenants that require the browser', async () => {
  await using h = await harness()
  assert.deepEqual(await listOf(h), { origins: [] })
  h.clock.advance(10_000)
  await h.addTenant({ workflows: WORKFLOWS, origins: ['https://b.example', 'https://a.example'] })
  await h.addTenant({ workflows: [WORKFLOWS[1]!], origins: ['https://c.example'] })
  assert.deepEqual(await listOf(h), { origins: ['https://a.example', 'https://b.example'] })
})

test('one read of the tenants serves all callers for ten seconds', async () => {
  await using h = await harness()
  assert.deepEqual(await listOf(h), { origins: [] })
  await h.addTenant({ workflows: WORKFLOWS, origins: ['https://a.example'] })
  h.clock.advance(9_999)
  assert.deepEqual(await listOf(h), { origins: [] })
  h.clock.advance(1)
  assert.deepEqual(await listOf(h), { origins: ['https://a.example'] })
})

test('is not there on a service of several organizations', async () => {
  await using h = await harness({ relatedOrigins: false })
  await h.addTenant({ workflows: WORKFLOWS, origins: ['https://a.example'] })
  assert.equal((await read(h)).status, 404)
})
