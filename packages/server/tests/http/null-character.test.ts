import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { ENDPOINTS, type Endpoint, type EndpointName } from '@bonded/contract'
import { harness } from '../../../../tests/harness/harness.ts'
import { validRequests } from '../../../../tests/harness/valid-requests.ts'

/**
 * PostgreSQL cannot store U+0000 in a text, and SQLite's functions end a text at it. The tier
 * `postgres` runs this file again, so both stores respond alike.
 */
const h = await harness()
after(() => h[Symbol.asyncDispose]())
const { bodies, pathOf, send } = await validRequests(h)
/** A request with each optional text. */
const GOOD = {
  ...bodies,
  createSession: {
    ...bodies.createSession,
    publishableKey: h.shop.publishable,
    context: { display: [{ label: 'Amount', value: '1' }] },
    end_user_address: '192.0.2.1',
  },
}

/** Copies of a body, each with U+0000 in one of its strings, and the path of that string. */
function withNull(value: unknown, path = ''): readonly (readonly [unknown, string])[] {
  if (typeof value === 'string') return [[`${value}\0`, path]]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, member]) =>
    withNull(member, path === '' ? name : `${path}.${name}`).map(
      ([changed, at]) =>
        [
          Array.isArray(value) ? value.with(Number(name), changed) : { ...value, [name]: changed },
          at,
        ] as const,
    ),
  )
}

for (const [name, good] of Object.entries(GOOD) as [EndpointName, object][]) {
  test(`${name} rejects U+0000 in every string of its body, and names the member`, async () => {
    for (const [body, param] of withNull(good)) {
      const reply = await send(name, { raw: JSON.stringify(body) })
      const { reason, param: named } = reply.body.error
      assert.deepEqual([reply.status, reason, named], [400, 'null_character', param], reply.text)
    }
    const named = await send(name, { raw: JSON.stringify({ ...good, 'a\0b': 1 }) })
    assert.deepEqual([named.status, named.body.error.reason], [400, 'null_character'], named.text)
  })
}

test('no path and no query with U+0000 fails in the store', async () => {
  for (const name of Object.keys(ENDPOINTS) as EndpointName[]) {
    const endpoint: Endpoint = ENDPOINTS[name]
    const { path, query } = endpoint
    const properties = Object.keys((query as { properties?: object })?.properties ?? {})
    const paths = [
      ...(path.includes('{')
        ? [path.replaceAll(/\{\w+\}/g, 'a%00'), `${pathOf(endpoint)}%00`]
        : []),
      ...properties.map((parameter) => `${pathOf(endpoint)}?${parameter}=a%00`),
    ]
    for (const changed of paths) {
      const { status, text } = await send(name, { path: changed })
      assert.ok(status < 500, `${changed}: ${status} ${text}`)
    }
  }
})
