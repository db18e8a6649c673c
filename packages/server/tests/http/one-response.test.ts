import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AppAttest, PhoneSession, TimelineEntry } from '@bonded/contract'
import { appleKey, asTestRoots, ATTESTED_KEYS } from '../../../../tests/harness/attested-phones.ts'
import {
  type Harness,
  harness,
  type Reply,
  SHOP_ORIGIN,
} from '../../../../tests/harness/harness.ts'
import {
  attestation,
  type Tampering,
  newKey,
  type TestPhone,
} from '../../../../tests/harness/phone.ts'

const other = newKey().privateKey
const junk = (length: number) => Buffer.alloc(length, 1).toString('base64url')

/** The defects of an assertion, and the step that the tenant's timeline records for each. */
const DEFECTS: readonly (readonly [
  what: string,
  step: string,
  tampering: Tampering,
  change?: Partial<AppAttest>,
])[] = [
  ['a hash of other data', 'client_data_hash', { hash: Buffer.alloc(32, 1) }],
  ['another key', 'signature', { privateKey: other }],
  ['a malformed signature', 'signature', {}, { signature: junk(70) }],
  ['another app', 'app_id', { appId: 'evil.example' }],
  ['a counter that does not increase', 'counter', { counter: 1 }],
  ['the id of another key', 'key_id', {}, { key_id: junk(32) }],
]

const FORMATS = [...ATTESTED_KEYS, ['software', () => undefined]] as const

test('responds to every invalid assertion identically in every format, and records the failed step in the timeline', async () => {
  await using h = await harness({ attestation: asTestRoots })
  const responses = new Set<string>()
  for (const [format, makeKey] of FORMATS) {
    // The evidence of a page shows no hint, so `seq` differs between apps and pages.
    const pages = new Set<string>()
    for (const [what, step, tampering, change] of DEFECTS) {
      const { phone, session, view } = await claimed(h, makeKey())
      const { verified_evidence: evidence } = (await h.evidence(phone, view)).body
      // A valid bond of another session raises the counter above 1.
      await bondElsewhere(h, phone)
      const body = attestation(phone, view, evidence, h.now(), tampering)
      responses.add(
        withoutId(await send(h, phone, { ...body, app_attest: { ...body.app_attest, ...change } })),
      )
      pages.add(await page(h, session))
      assert.equal(await stepOf(h, session), step, `${format}: ${what}`)
    }
    const { phone, session, view } = await claimed(h, makeKey())
    const { verified_evidence: evidence } = (await h.evidence(phone, view)).body
    const forged = attestation(phone, view, { ...evidence, signature: junk(32) }, h.now())
    responses.add(withoutId(await send(h, phone, forged)))
    pages.add(await page(h, session))
    assert.equal(await stepOf(h, session), 'evidence_mac', format)
    assert.equal(pages.size, 1, [...pages].join('\n'))
  }
  assert.equal(responses.size, 1, [...responses].join('\n'))
})

test('responds to every registration with an invalid attestation identically', async () => {
  await using h = await harness({ attestation: asTestRoots })
  const responses = new Set<string>()
  for (const [format, makeKey] of ATTESTED_KEYS) {
    const stale = makeKey().register(junk(32))
    const { challenge } = (await h.api('POST', '/devices/challenges')).body
    responses.add(
      withoutId(await h.api('POST', '/devices', { body: { format, challenge, ...stale } })),
    )
  }
  const { challenge } = (await h.api('POST', '/devices/challenges')).body
  const [good, another] = [appleKey().register(challenge), appleKey().register(challenge)]
  const mixed: readonly object[] = [
    { format: 'apple-app-attest', ...good, key_id: (another as { key_id: string }).key_id },
    { format: 'apple-app-attest', ...good, attestation_object: junk(100) },
    { format: 'android-key', certificate_chain: [junk(10), junk(10), junk(10)] },
    {
      format: 'webauthn',
      registration: {
        id: 'AAAA',
        type: 'public-key',
        response: { clientDataJSON: 'e30', attestationObject: 'oA' },
      },
    },
  ]
  for (const body of mixed)
    responses.add(withoutId(await h.api('POST', '/devices', { body: { challenge, ...body } })))
  assert.equal(responses.size, 1, [...responses].join('\n'))
})

async function claimed(h: Harness, key: Parameters<Harness['register']>[1]) {
  const phone = await h.register(undefined, key)
  const session = await h.create()
  const view: PhoneSession = (await h.claim(phone, session)).body
  return { phone, session, view }
}

async function bondElsewhere(h: Harness, phone: TestPhone): Promise<void> {
  const bonded = await h.attest(phone, (await h.claim(phone, await h.create())).body)
  assert.equal(bonded.body.state, 'bonded', bonded.text)
}

const send = (h: Harness, phone: TestPhone, body: object) =>
  h.api('POST', '/attestations', { token: phone.device_token, body })

/** Returns the status and the body without the request id. */
function withoutId({ status, body }: Reply): string {
  return JSON.stringify([status, { ...body.error, requestId: '' }])
}

/** Returns the browser's view without ids and values derived from them. */
async function page(h: Harness, session: { id: string; watch_token: string }): Promise<string> {
  const headers = { origin: SHOP_ORIGIN, 'x-bond-watch': session.watch_token }
  const { body } = await h.api('GET', `/sessions/${session.id}`, {
    token: h.shop.publishable,
    headers,
  })
  const { state, hint, ended_reason, seq, verification, expires_in_ms, challenge_expires_in_ms } =
    body
  return JSON.stringify({
    state,
    hint,
    ended_reason,
    seq,
    verification,
    expires_in_ms,
    challenge_expires_in_ms,
  })
}

async function stepOf(h: Harness, session: { id: string }): Promise<string | null> {
  const { body } = await h.api('GET', `/sessions/${session.id}/timeline`, { token: h.shop.server })
  return body.entries.findLast(({ kind }: TimelineEntry) => kind === 'refused')?.step
}
