import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { harness } from '../../../../tests/harness/harness.ts'

const h = await harness()
after(() => h[Symbol.asyncDispose]())
const create = (body: unknown, headers: Record<string, string> = {}, token = h.shop.server) =>
  h.api('POST', '/sessions', { token, body, headers })

test('returns one session, in its current state, for one Idempotency-Key and body', async () => {
  const headers = { 'idempotency-key': 'order-1' }
  const first = await create({ workflow: 'credit_application' }, headers)
  const phone = await h.register()
  await h.claim(phone, first.body)
  const again = await create({ workflow: 'credit_application' }, headers)
  assert.equal(again.status, 201)
  assert.deepEqual(
    [again.body.id, again.body.completion_secret],
    [first.body.id, first.body.completion_secret],
  )
  assert.equal(again.body.hint, 'scanned')
})

test('rejects the same key with another body, and ignores the order of members', async () => {
  const headers = { 'idempotency-key': 'order-2' }
  const first = await create({ workflow: 'wire_transfer', action: 'approve_wire' }, headers)
  const reordered = await create({ action: 'approve_wire', workflow: 'wire_transfer' }, headers)
  assert.equal(reordered.body.id, first.body.id)
  const other = await create({ workflow: 'wire_transfer', action: 'change_limit' }, headers)
  assert.deepEqual([other.status, other.body.error.reason], [400, 'idempotency_mismatch'])
})

test('rejects an Idempotency-Key whose session the credential could not have created', async () => {
  const headers = { 'idempotency-key': 'order-3' }
  const [wire, credit] = [
    await h.addKeys(h.shop.tenant, [{ workflow: 'wire_transfer', actions: ['approve_wire'] }]),
    await h.addKeys(h.shop.tenant, [{ workflow: 'credit_application', actions: null }]),
  ]
  const first = await create({}, headers, wire.server)
  assert.equal(first.body.workflow, 'wire_transfer')
  const other = await create({}, headers, credit.server)
  assert.deepEqual([other.status, other.body.error.reason], [400, 'idempotency_mismatch'])
  assert.equal((await create({}, headers, wire.server)).body.id, first.body.id)
})

test('creates one session from fifty concurrent creates with one key', async () => {
  const one = async () => {
    for (;;) {
      const reply = await create({ workflow: 'credit_application' }, { 'idempotency-key': 'storm' })
      // Fifty overload a machine that is busy with other tests, and the call may also wait for a
      // lock for too long. Clients repeat every call that the service could not answer now.
      if (reply.status !== 503) return reply
    }
  }
  const replies = await Promise.all(Array.from({ length: 50 }, one))
  const created = replies.map(({ status, body }) => [status, body.id, body.error?.reason])
  assert.deepEqual(
    created,
    created.map(() => [201, replies[0]?.body.id, undefined]),
  )
})

test('keeps an Idempotency-Key per tenant, and as long as its session is readable', async () => {
  const other = await h.addTenant({ name: 'Other', origins: ['https://other.example'] })
  const headers = { 'idempotency-key': 'shared' }
  const body = { workflow: 'credit_application' }
  const ours = await create(body, headers)
  const theirs = await create(body, headers, other.server)
  assert.notEqual(theirs.body.id, ours.body.id)
  assert.equal((await create(body, headers, other.server)).body.id, theirs.body.id)
  h.clock.advance(300_000 + 60 * 60_000 - 1)
  assert.equal((await create(body, headers)).body.id, ours.body.id)
  h.clock.advance(1)
  assert.notEqual((await create(body, headers)).body.id, ours.body.id)
})

test('rejects an Idempotency-Key that is empty, too long or not visible ASCII', async () => {
  for (const key of ['', 'x'.repeat(256), 'a b', 'é'.normalize('NFC')]) {
    const reply = await create({ workflow: 'credit_application' }, { 'idempotency-key': key })
    assert.equal(reply.status, 400, JSON.stringify(key))
  }
})

test('allows omitting workflow and action if the credential allows only one', async () => {
  const single = await h.addKeys(h.shop.tenant, [
    { workflow: 'wire_transfer', actions: ['approve_wire'] },
  ])
  const created = await create(undefined, {}, single.server)
  assert.deepEqual([created.body.workflow, created.body.action], ['wire_transfer', 'approve_wire'])
  assert.equal((await create({})).body.error.reason, 'workflow_required')
  assert.equal((await create({ workflow: 'wire_transfer' })).body.error.reason, 'action_required')
})

test('reads null as an optional member that is left out', async () => {
  const headers = { 'idempotency-key': 'nulls' }
  const display = [{ label: 'Amount', value: '€ 12' }]
  const omitted = { workflow: 'wire_transfer', action: 'approve_wire', context: { display } }
  const nulls = {
    ...omitted,
    publishableKey: null,
    subject_ref: null,
    context: { display, digest: null },
    phone_number: null,
    end_user_address: null,
  }
  const first = await create(nulls, headers)
  assert.deepEqual([first.status, first.body.context], [201, { display }])
  assert.equal((await create(omitted, headers)).body.id, first.body.id)
  const bare = await create({ workflow: 'credit_application', action: null, context: null })
  assert.deepEqual([bare.status, bare.body.context], [201, null])
  const missing = await create({ workflow: null, action: null })
  assert.equal(missing.body.error.reason, 'workflow_required')
  for (const context of [{ display: null }, { display: [{ label: null, value: 'x' }] }])
    assert.equal(
      (await create({ workflow: 'credit_application', context })).body.error.reason,
      'invalid_member',
    )
})

test('names the text of a context that could mislead the user, and says why', async () => {
  const row = (label: string, value = '€ 12.00') => ({ label, value })
  const cases: [object[], string, RegExp][] = [
    [[row('Payee', `Ada${' '.repeat(40)}Amount`)], 'context.display.0.value', /single spaces/],
    [[row('Payee', 'Ada\u2800Amount')], 'context.display.0.value', /blank/],
    [[row('Payee'), row('Amount\ufffc')], 'context.display.1.label', /blank/],
    [[row('Amount'), row('amount')], 'context.display', /look alike/],
    [[row('Amount'), row('Amount:')], 'context.display.1.label', /looks like another label/],
    [[row('\u0410mount')], 'context.display.0.label', /mixes scripts/],
    [[row('Zweck')], 'context.display.0.label', /"Zweck", which is a reserved label/],
  ]
  for (const [display, param, detail] of cases) {
    const { body } = await create({ workflow: 'credit_application', context: { display } })
    assert.deepEqual([body.error.reason, body.error.param], ['invalid_member', param])
    assert.match(body.error.message, detail)
  }
})

test('takes workflows and actions as tenants name them', async () => {
  const names = { workflow: 'Payments.SEPA-Instant_2', action: 'constructor' }
  const { server } = await h.addTenant({
    name: 'Dots',
    workflows: [{ name: names.workflow, actions: ['9.Approve-Transfer', names.action] }],
  })
  const created = await create(names, {}, server)
  assert.deepEqual([created.body.workflow, created.body.action], [names.workflow, names.action])
  for (const workflow of ['', 'a b', 'a/b', 'a:b', 'é', 'w'.repeat(65)]) {
    const { body } = await create({ workflow }, {}, server)
    assert.deepEqual([body.error.reason, body.error.param], ['invalid_member', 'workflow'])
  }
})

test('reports an unknown workflow as invalid and one that is not enabled as forbidden', async () => {
  const scoped = await h.addKeys(h.shop.tenant, [
    { workflow: 'wire_transfer', actions: ['approve_wire'] },
  ])
  const cases: [object, string, number, string][] = [
    [{ workflow: 'nothing' }, h.shop.server, 400, 'workflow_unknown'],
    [{ workflow: 'wire_transfer', action: 'nothing' }, h.shop.server, 400, 'action_unknown'],
    [{ workflow: 'credit_application' }, scoped.server, 403, 'workflow_not_enabled'],
    [
      { workflow: 'wire_transfer', action: 'change_limit' },
      scoped.server,
      403,
      'action_not_enabled',
    ],
    [
      { workflow: 'credit_application', publishableKey: scoped.publishable },
      h.shop.server,
      403,
      'workflow_not_enabled',
    ],
    [
      { workflow: 'wire_transfer', action: 'change_limit', publishableKey: scoped.publishable },
      h.shop.server,
      403,
      'action_not_enabled',
    ],
  ]
  for (const [body, token, status, reason] of cases) {
    const reply = await create(body, {}, token)
    assert.deepEqual(
      [reply.status, reply.body.error.reason],
      [status, reason],
      JSON.stringify(body),
    )
  }
})

test('rejects a publishable key that is unknown or of another tenant as forbidden', async () => {
  const other = await h.addTenant({ name: 'Third', origins: ['https://third.example'] })
  for (const publishableKey of [other.publishable, `pk_beta_${'0'.repeat(22)}`]) {
    const reply = await create({ workflow: 'credit_application', publishableKey })
    assert.deepEqual([reply.status, reply.body.error.reason], [403, 'key_of_another_tenant'])
  }
})

const withDisplay = (display: readonly object[]) =>
  create({ workflow: 'credit_application', context: { display } })

test('rejects a context value that hides, reorders or piles up characters, and names it', async () => {
  const tag = String.fromCodePoint(0xe0041)
  const hidden = ['a\u202eb', 'a\u200bb', 'a\nb', 'a\u2066b', 'a\u3164b', 'a\ufe0fb']
  const piled = ['e\u0301\u0302\u0303', 'a\u20dd\u20dd\u20dd']
  for (const text of [...hidden, ...piled, `a${tag}b`, '', ' ', '\u00a0', '\u2800', '\u0301']) {
    const value = await withDisplay([{ label: 'Amount', value: text }])
    assert.deepEqual(
      [value.status, value.body.error?.reason, value.body.error?.param],
      [400, 'invalid_member', 'context.display.0.value'],
      JSON.stringify(text),
    )
    const label = await withDisplay([{ label: text, value: '1' }])
    assert.equal(label.body.error?.param, 'context.display.0.label', JSON.stringify(text))
  }
  assert.equal((await withDisplay([{ label: 'Amount', value: 'x'.repeat(257) }])).status, 400)
})

test('accepts a context in any script, up to 256 code points', async () => {
  const emoji = '€ 12,500.00 ✓ 😀'.padEnd(200, '😀')
  for (const value of [emoji, 'Nguyễn Thị Hồng', 'ज़िंदगी बीमा', 'မြို့တော်', '12\u202f500 €'])
    assert.equal((await withDisplay([{ label: 'Amount', value }])).status, 201, value)
})

test('rejects a context with two labels that read alike', async () => {
  for (const label of ['Amount', 'AMOUNT', ' amount', 'Ａmount']) {
    const reply = await withDisplay([
      { label: 'Amount', value: '€ 1' },
      { label: 'To', value: 'A' },
      { label, value: '€ 9,000' },
    ])
    assert.deepEqual(
      [reply.status, reply.body.error?.reason, reply.body.error?.param],
      [400, 'invalid_member', 'context.display'],
      label,
    )
  }
})

test('rejects an end_user_address that is not the text of one IP address', async () => {
  const wrong = ['1.2.3', '01.2.3.4', '1.2.3.4:80', '::1::', '12345::', '192.0.2.0/24', 'fe80::1%1']
  for (const end_user_address of [...wrong, '::', '0.0.0.0', ':::', 'localhost']) {
    const reply = await create({ workflow: 'credit_application', end_user_address })
    const isAddress = end_user_address === '::' || end_user_address === '0.0.0.0'
    assert.equal(reply.status, isAddress ? 201 : 400, end_user_address)
    if (!isAddress) assert.equal(reply.body.error.param, 'end_user_address')
  }
})

test('complete checks first the secret, then the context, then the state', async () => {
  const { session } = await h.reach('pending', {
    workflow: 'credit_application',
    context: { display: [], digest: 'd'.repeat(43) },
  })
  const path = `/sessions/${session.id}/form-completed`
  const attempt = async (headers: Record<string, string>) =>
    (await h.api('POST', path, { token: h.shop.server, headers })).body.error.reason
  assert.equal(await attempt({}), 'completion_secret_missing')
  assert.equal(
    await attempt({ 'x-bond-completion-secret': `bcs_${'A'.repeat(43)}` }),
    'completion_secret_mismatch',
  )
  const right = { 'x-bond-completion-secret': session.completion_secret ?? '' }
  assert.equal(
    await attempt({ ...right, 'x-bond-context-digest': 'e'.repeat(43) }),
    'context_mismatch',
  )
  assert.equal(await attempt(right), 'session_not_bonded')
})

test('completes a session without a context when no digest is sent', async () => {
  const { session } = await h.reach('bonded')
  assert.equal(
    (await h.complete(session, { 'x-bond-context-digest': 'e'.repeat(43) })).body.error.reason,
    'context_mismatch',
  )
  assert.equal((await h.complete(session)).status, 200)
})

test('rejects the completion of a bonded session that has expired', async () => {
  const { session } = await h.reach('bonded')
  h.clock.advance(300_000)
  const late = await h.complete(session)
  assert.deepEqual([late.status, late.body.error.reason], [404, 'session_not_found'])
})
