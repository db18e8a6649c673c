import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { attestation } from '../../../../tests/harness/phone.ts'
import { harness } from '../../../../tests/harness/harness.ts'
import {
  namesAnotherTenant,
  TENANT_NAMES_TTL_MS,
} from '../../../core/src/operations/tenant/tenant-names.ts'

const h = await harness()
after(() => h[Symbol.asyncDispose]())

const DISPLAY = [{ label: 'Amount', value: '€ 12,500.00' }]
const TEXT = '{\n  "amount": "12500.00",\n  "payee":   "Example Ltd"\n}'
const REQUESTER = { kind: 'agent', name: 'Invoice agent', detail: 'pays invoices' }
const SHOWN = { shows: ['text', 'requester'] }

const post = (context: object) =>
  h.api('POST', '/sessions', {
    token: h.shop.server,
    body: { workflow: 'credit_application', context },
  })
const create = async (context: object) => {
  const made = await post(context)
  assert.equal(made.status, 201, made.text)
  return made.body
}
const faultOf = async (context: object) => {
  const { status, body } = await post(context)
  return [status, body.error.reason, body.error.param]
}
const claim = (
  phone: Awaited<ReturnType<typeof h.register>>,
  session: { id: string; nonce: string },
  more: object,
) =>
  h.api('POST', `/sessions/${session.id}/claim`, {
    token: phone.device_token,
    body: { nonce: session.nonce, device_id: phone.device_id, ...more },
  })

test('a phone that does not show texts claims no session with a text or a requester', async () => {
  const phone = await h.register()
  for (const more of [{ text: TEXT }, { requester: REQUESTER }]) {
    const session = await create({ display: DISPLAY, ...more })
    for (const shows of [undefined, [], ['directional_marks'], ['text'], ['requester']]) {
      const { status, body } = await claim(phone, session, { shows })
      assert.deepEqual(
        [status, body.error.reason, body.error.param],
        [400, 'key_format_not_accepted', 'shows'],
      )
    }
    // Nothing was pinned: another phone can still claim it.
    assert.equal((await claim(await h.register(), session, SHOWN)).status, 200)
  }
})

test('a text is signed by a phone that says that it shows it, and is in its receipt', async () => {
  const context = { display: DISPLAY, requester: REQUESTER, text: TEXT }
  const phone = await h.register()
  const session = await create(context)
  assert.equal((await claim(phone, session, SHOWN)).status, 200)
  const view = await h.view(phone, session)
  assert.deepEqual(view.context, context)
  const { verified_evidence } = (await h.evidence(phone, view)).body
  const body = attestation(phone, view, verified_evidence, h.now())
  const attest = (more: object) =>
    h.api('POST', '/attestations', { token: phone.device_token, body: { ...body, ...more } })
  const rejected = await attest({ shows: undefined })
  assert.deepEqual(
    [rejected.body.error.reason, rejected.body.error.param],
    ['key_format_not_accepted', 'shows'],
  )
  assert.equal((await attest(SHOWN)).body.state, 'bonded')
  const { receipt } = (
    await h.api('GET', `/sessions/${session.id}/receipt`, { token: h.shop.server })
  ).body
  const [, claims = ''] = String(receipt).split('.')
  const parsed = JSON.parse(Buffer.from(claims, 'base64url').toString()) as { context: unknown }
  assert.deepEqual(parsed.context, context)
})

test('a signature over another text or without the requester bonds nothing', async () => {
  const context = { display: DISPLAY, requester: REQUESTER, text: TEXT }
  for (const signed of [
    { ...context, text: `${TEXT} ` },
    { display: DISPLAY, text: TEXT },
  ]) {
    const phone = await h.register()
    const session = await create(context)
    await claim(phone, session, SHOWN)
    const view = await h.view(phone, session)
    const { verified_evidence } = (await h.evidence(phone, view)).body
    const other = { ...view, context: signed as typeof view.context }
    const body = attestation(phone, other, verified_evidence, h.now())
    const { body: rejected } = await h.api('POST', '/attestations', {
      token: phone.device_token,
      body: { ...body, ...SHOWN },
    })
    assert.equal(rejected.error.reason, 'assertion_invalid')
  }
})

test('rejects texts that a phone cannot show, and a text without a pair', async () => {
  const text = 'context.text'
  for (const [more, param] of [
    [{ text: 'a\r\nb' }, text],
    [{ text: 'a\u202eb' }, text],
    [{ text: '' }, text],
    [{ text: 'é'.repeat(4_097) }, text],
    [{ text: 'a\n'.repeat(200) }, text],
    [{ text: TEXT, display: [] }, 'context.display'],
  ] as const)
    assert.deepEqual(await faultOf({ display: DISPLAY, ...more }), [400, 'invalid_member', param])
  const largest = await create({ display: DISPLAY, text: '\u0022'.repeat(8_192) })
  assert.equal(largest.context?.text?.length, 8_192)
  assert.equal((await post({ display: DISPLAY, text: null, requester: null })).status, 201)
})

test('rejects a requester that breaks the rules of labels and values', async () => {
  const name = 'context.requester.name'
  for (const [more, param] of [
    [{ kind: 'bank' }, 'context.requester.kind'],
    [{ name: 'a'.repeat(65) }, name],
    [{ name: 'Invoice  agent' }, name],
    [{ name: 'Invоice agent' }, name],
    [{ detail: 'a\nb' }, 'context.requester.detail'],
    [{ detail: 'a'.repeat(257) }, 'context.requester.detail'],
  ] as const)
    assert.deepEqual(await faultOf({ display: DISPLAY, requester: { ...REQUESTER, ...more } }), [
      400,
      'invalid_member',
      param,
    ])
  const url = { ...REQUESTER, url: 'https://example.com' }
  assert.equal((await faultOf({ display: DISPLAY, requester: url }))[1], 'unknown_member')
})

test('rejects a requester that looks like another tenant, and accepts the own name', async () => {
  const named = (name: string) => ({ display: DISPLAY, requester: { ...REQUESTER, name } })
  await create(named('Harbor Savings'))
  await h.addTenant({ name: 'Harbor Savings', origins: ['https://harbor.example'] })
  h.clock.advance(TENANT_NAMES_TTL_MS)
  for (const name of ['Harbor Savings', 'HARBOR-SAVINGS', 'Harbοr Savings'])
    assert.deepEqual(await faultOf(named(name)), [400, 'invalid_member', 'context.requester.name'])
  const { tenant_name } = await h.view(await h.register(), await create({ display: DISPLAY }))
  await create(named(tenant_name))
  await create(named('Harbor agent'))
})

test('rejects another tenant’s name within the name or the detail, and check marks', async () => {
  const of = (more: object) => ({ display: DISPLAY, requester: { ...REQUESTER, ...more } })
  await h.addTenant({ name: 'Kestrel Trust', origins: ['https://kestrel.example'] })
  const { tenant } = await h.addTenant({ name: 'Kestrel Trust Leasing' })
  h.clock.advance(TENANT_NAMES_TTL_MS)
  for (const said of [
    'Agent of Kestrel Trust',
    'KESTREL TRUST (official)',
    'Kestrel·Trust',
    'K e s t r e l Trust',
    'KestrelTrust Leasing agent',
    'Kestrel Trust ✓',
    'Invoices ✅',
    '☑ Invoices',
  ])
    for (const member of ['name', 'detail'])
      assert.deepEqual(
        await faultOf(of({ [member]: said })),
        [400, 'invalid_member', `context.requester.${member}`],
        said,
      )
  for (const said of ['Kestrel agent', 'Trust Kestrel', 'Kestrels Trust', 'Kestrel Trusted'])
    for (const member of ['name', 'detail']) await create(of({ [member]: said }))
  // The own name may have that of another one in it.
  assert.equal(await namesAnotherTenant(h.service, tenant, 'Agent of Kestrel Trust Leasing'), false)
  assert.equal(await namesAnotherTenant(h.service, tenant, 'Agent of Kestrel Trust'), true)
})
