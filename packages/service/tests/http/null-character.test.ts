import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { ENDPOINTS, type Endpoint, type EndpointName } from '@bonded/contract'
import { harness, PUBLIC_ORIGIN, SHOP_ORIGIN } from '../harness/harness.ts'
import {
  attestation,
  carriedSignals,
  evidenceRequest,
  newKey,
  removalRequest,
  tokenRequest,
} from '../harness/phone.ts'

/**
 * PostgreSQL cannot store U+0000 in a text, and SQLite's functions end a text at it. The tier
 * `postgres` runs this file again, so both stores answer alike.
 */
const h = await harness()
after(() => h[Symbol.asyncDispose]())
const session = await h.create()
const phone = await h.register()
const shown = {
  ...session,
  tenant_name: '',
  requesting_origin: null,
  created_at: session.server_time,
}
const { challenge } = (await h.api('POST', '/devices/challenges')).body
const { verified_evidence } = (await h.evidence(phone, shown)).body

type Body = Record<string, unknown>
/** A valid body for every endpoint that takes one, with each optional text. */
const GOOD: Partial<Record<EndpointName, Body>> = {
  createSession: {
    workflow: 'credit_application',
    action: 'submit_application',
    publishableKey: h.shop.publishable,
    context: { display: [{ label: 'Amount', value: '1' }] },
    end_user_address: '192.0.2.1',
  },
  reportContainment: { verdict: 'unverified', breaches: ['covered'] },
  claimSession: { nonce: session.nonce, device_id: phone.device_id },
  declineSession: { nonce: session.nonce, device_id: phone.device_id, reason: 'user_declined' },
  fetchEvidence: evidenceRequest(phone, shown, carriedSignals(h.clock.now()), h.now()),
  attest: { ...attestation(phone, shown, verified_evidence, h.now()) },
  rotateDeviceToken: tokenRequest(phone, h.now(), { origin: PUBLIC_ORIGIN }),
  registerDevice: { format: 'software', challenge, public_key: newKey().public_key },
  removeDevice: removalRequest(phone, phone.device_id, h.now(), { origin: 'https://x.example' }),
}

const TOKENS = { phone: phone.device_token, backend: h.shop.server, browser: h.shop.publishable }

function send(name: EndpointName, { path, raw }: { path?: string; raw?: string }) {
  const endpoint: Endpoint = ENDPOINTS[name]
  const caller = (['phone', 'backend', 'browser'] as const).find((kind) =>
    endpoint.callers.includes(kind),
  )
  const token = caller && TOKENS[caller]
  return h.call(endpoint.method, path ?? filled(endpoint.path), {
    token,
    ...(raw === undefined ? {} : { raw }),
    headers: caller === 'browser' ? { origin: SHOP_ORIGIN } : {},
  })
}

function filled(path: string): string {
  return path.replace('{session_id}', session.id).replace('{device_id}', phone.device_id)
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

for (const [name, good] of Object.entries(GOOD) as [EndpointName, Body][]) {
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
    const { path, query } = ENDPOINTS[name] as Endpoint
    const properties = Object.keys((query as { properties?: object })?.properties ?? {})
    const paths = [
      ...(path.includes('{') ? [path.replaceAll(/\{\w+\}/g, 'a%00'), `${filled(path)}%00`] : []),
      ...properties.map((parameter) => `${filled(path)}?${parameter}=a%00`),
    ]
    for (const changed of paths) {
      const { status, text } = await send(name, { path: changed })
      assert.ok(status < 500, `${changed}: ${status} ${text}`)
    }
  }
})
