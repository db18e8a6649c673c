import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CreatedSession, RejectionList } from '@bonded/contract'
import {
  REJECTION_RETENTION_MS,
  RETENTION_AFTER_END_MS,
} from '../../../core/src/domain/lifetimes.ts'
import { purgeSessions } from '../../../core/src/operations/maintenance/purge-sessions.ts'
import {
  type Harness,
  harness,
  type Reply,
  type TenantKeys,
} from '../../../../tests/harness/harness.ts'
import { carriedSignals, type TestPhone } from '../../../../tests/harness/phone.ts'

const reasonOf = (reply: Reply) => reply.body?.error?.reason as string | undefined
const search = async (h: Harness, query = '', { server: token }: TenantKeys = h.shop) => {
  const { status, body, text } = await h.api('GET', `/rejections${query}`, { token })
  assert.equal(status, 200, text)
  return body as RejectionList
}
const requestsOf = ({ rejections }: RejectionList) => rejections.map(({ request_id }) => request_id)

/** Claims a session with a nonce of another one. Returns the reference on the user's screen. */
async function refuse(h: Harness, phone: TestPhone, session: CreatedSession): Promise<string> {
  h.clock.advance(1_000)
  const refused = await h.claim(phone, { ...session, nonce: 'A'.repeat(43) })
  assert.equal(reasonOf(refused), 'nonce_mismatch')
  return refused.body.error.requestId
}

test('yesterday’s rejection is found by its reference, its session, its user, its reason and its time', async () => {
  await using h = await harness()
  const { session: first, phone } = await h.reach('bonded')
  const { subject_ref } = (await h.get(first)).body
  const session = await h.create()
  const stranger = await h.register()
  const at = h.clock.now() + 1_000
  const request = await refuse(h, phone, session)
  const other = await h.create()
  const second = await refuse(h, stranger, other)

  // The sessions are purged, and their timelines with them.
  h.clock.advance(RETENTION_AFTER_END_MS + 600_000)
  while ((await purgeSessions(h.service)).more);
  h.clock.advance(RETENTION_AFTER_END_MS)
  while ((await purgeSessions(h.service)).more);
  assert.equal((await h.get(session)).status, 404)

  const found = {
    at: new Date(at).toISOString(),
    request_id: request,
    session_id: session.id,
    subject_ref,
    reason: 'nonce_mismatch',
    step: 'nonce',
  }
  for (const query of [
    `?request_id=${request}`,
    `?session_id=${session.id}`,
    `?subject_ref=${subject_ref}`,
    `?until=${new Date(at).toISOString()}`,
    `?reason=nonce_mismatch&session_id=${session.id}`,
  ])
    assert.deepEqual(await search(h, query), { rejections: [found], next: null }, query)
  // A phone that the tenant does not know has no name there.
  const [unknown] = (await search(h, `?request_id=${second}`)).rejections
  assert.equal(unknown?.subject_ref, null)
  assert.deepEqual(requestsOf(await search(h)), [second, request])
  assert.deepEqual(requestsOf(await search(h, `?since=${new Date(at + 1).toISOString()}`)), [
    second,
  ])
  assert.deepEqual(requestsOf(await search(h, '?reason=device_not_usable')), [])
  assert.deepEqual(
    requestsOf(await search(h, `?request_id=${request}&subject_ref=${'A'.repeat(43)}`)),
    [],
  )
})

test('a page names the next one', async () => {
  await using h = await harness()
  const phone = await h.register()
  const session = await h.create()
  const requests: string[] = []
  for (let sent = 0; sent < 5; sent++) requests.unshift(await refuse(h, phone, session))
  const pages: (readonly string[])[] = []
  let next: string | null = ''
  for (let read = 0; next !== null && read < 4; read++) {
    const page: RejectionList = await search(h, `?limit=2${next && `&before=${next}`}`)
    pages.push(requestsOf(page))
    next = page.next
  }
  assert.deepEqual(pages, [requests.slice(0, 2), requests.slice(2, 4), requests.slice(4)])
})

test('says why an approval did not suffice, also the one that ended the session', async () => {
  await using h = await harness()
  const { session, phone } = await h.reach('step_up_required')
  for (let sent = 0; sent < 3; sent++) {
    h.clock.advance(1_000)
    const local_auth = { result: 'failed', method: 'none', verified_at: h.now() } as const
    const signals = { ...carriedSignals(h.clock.now()), local_auth }
    await h.attest(phone, await h.view(phone, session), { signals })
  }
  assert.equal((await h.get(session)).body.ended_reason, 'policy_not_met')
  const { rejections } = await search(h, `?session_id=${session.id}&reason=policy_not_met`)
  assert.ok(rejections.length >= 2)
  for (const { step } of rejections) assert.match(step ?? '', /local_auth/)
})

test('a tenant finds no rejection of another, whatever it names', async () => {
  await using h = await harness()
  const other = await h.addTenant({ name: 'Other', origins: ['https://other.example'] })
  const { session: bonded, phone } = await h.reach('bonded')
  const { subject_ref } = (await h.get(bonded)).body
  const session = await h.create()
  const request = await refuse(h, phone, session)
  const none = { rejections: [], next: null }
  for (const query of [
    '',
    `?request_id=${request}`,
    `?session_id=${session.id}`,
    `?subject_ref=${subject_ref}`,
    '?reason=nonce_mismatch',
    `?before=${h.clock.now() + 1}.${request}`,
  ])
    assert.deepEqual(await search(h, query, other), none, query)
})

test('rejects a scoped credential, a key of a page, and a search of another form', async () => {
  await using h = await harness()
  const scoped = await h.addKeys(h.shop.tenant, [{ workflow: 'credit_application', actions: null }])
  const phone = await h.register()
  const send = async (token: string, query = '') =>
    reasonOf(await h.api('GET', `/rejections${query}`, { token }))
  assert.equal(await send(scoped.server), 'unscoped_credential_required')
  assert.equal(await send(h.shop.publishable), 'credential_not_accepted')
  assert.equal(await send(phone.device_token), 'credential_not_accepted')
  for (const query of [
    '?request_id=x',
    '?since=yesterday',
    '?before=1',
    '?limit=101',
    '?reason=%27',
  ])
    assert.equal(await send(h.shop.server, query), 'invalid_parameter', query)
})

test('a stranger stores 20 rejections of a session, its own phone 20 more, and an unknown session none', async () => {
  await using h = await harness()
  const [phone, stranger] = [await h.register(), await h.register()]
  const session = await h.create()
  await h.claim(phone, session)
  for (let sent = 0; sent < 30; sent++) await refuse(h, stranger, session)
  const stored = async () =>
    (await search(h, `?session_id=${session.id}&limit=100`)).rejections.length
  assert.equal(await stored(), 20)
  for (let sent = 0; sent < 30; sent++) await h.claim(phone, { ...session, nonce: 'A'.repeat(43) })
  assert.equal(await stored(), 40)
  await h.claim(stranger, { ...session, id: `sess_${'0'.repeat(22)}` })
  assert.equal((await search(h, '?limit=100')).rejections.length, 40)
})

test('the reasons are deleted at the end of their retention', async () => {
  await using h = await harness()
  const session = await h.create()
  await refuse(h, await h.register(), session)
  h.clock.advance(REJECTION_RETENTION_MS - 1)
  await purgeSessions(h.service)
  assert.equal((await search(h)).rejections.length, 1)
  h.clock.advance(1)
  await purgeSessions(h.service)
  assert.deepEqual((await search(h)).rejections, [])
})

test('a rejection has neither the context of its session nor an address', async () => {
  await using h = await harness()
  const context = { display: [{ label: 'Loan', value: 'CANARY-12,500 EUR' }] }
  const session = await h.create({ workflow: 'credit_application', context })
  await refuse(h, await h.register(), session)
  const stored = await h.service.store.read((tables) =>
    tables.rejections.list({ tenantId: undefined, limit: 10 }),
  )
  assert.deepEqual(Object.keys(stored.rejections[0] ?? {}).toSorted(), [
    'at',
    'reason',
    'requestId',
    'sessionId',
    'step',
    'subjectRef',
    'tenantId',
  ])
  assert.doesNotMatch(JSON.stringify(stored), /CANARY|127\.0\.0\.1/)
})
