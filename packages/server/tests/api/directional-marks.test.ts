import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { attestation } from '../../../../tests/harness/phone.ts'
import { harness } from '../../../../tests/harness/harness.ts'

const h = await harness()
after(() => h[Symbol.asyncDispose]())

const MARKED = { display: [{ label: 'סכום', value: '\u200f12,500.00 \u200f₪' }] }
const SHOWS = ['text', 'directional_marks']

const create = async (context: object) => {
  const made = await h.api('POST', '/sessions', {
    token: h.shop.server,
    body: { workflow: 'credit_application', context },
  })
  assert.equal(made.status, 201, made.text)
  return made.body
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

test('a phone that does not isolate values claims no session with directional marks', async () => {
  const phone = await h.register()
  const session = await create(MARKED)
  for (const more of [{}, { shows: [] }, { shows: ['text'] }]) {
    const { status, body } = await claim(phone, session, more)
    assert.deepEqual(
      [status, body.error.reason, body.error.param],
      [400, 'key_format_not_accepted', 'shows'],
    )
  }
  // Nothing was pinned: another phone can still claim it.
  assert.equal((await claim(await h.register(), session, { shows: SHOWS })).status, 200)
})

test('an assertion without a word on directional marks bonds no session that has them', async () => {
  const phone = await h.register()
  const session = await create(MARKED)
  assert.equal((await claim(phone, session, { shows: SHOWS })).status, 200)
  const view = await h.view(phone, session)
  const { verified_evidence } = (await h.evidence(phone, view)).body
  const body = attestation(phone, view, verified_evidence, h.now())
  const post = (more: object) =>
    h.api('POST', '/attestations', { token: phone.device_token, body: { ...body, ...more } })
  const rejected = await post({ shows: undefined })
  assert.deepEqual(
    [rejected.body.error.reason, rejected.body.error.param],
    ['key_format_not_accepted', 'shows'],
  )
  assert.equal((await post({ shows: SHOWS })).body.state, 'bonded')
  const { receipt } = (
    await h.api('GET', `/sessions/${session.id}/receipt`, { token: h.shop.server })
  ).body
  const [, claims = ''] = String(receipt).split('.')
  const { context } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as {
    context: unknown
  }
  assert.deepEqual(context, MARKED)
})

test('a session without directional marks needs no such phone', async () => {
  const phone = await h.register()
  const session = await create({ display: [{ label: 'روز', value: 'سه\u200cشنبه' }] })
  assert.equal((await claim(phone, session, {})).status, 200)
})

test('rejects marks at create where they would reorder the value, and in labels', async () => {
  for (const [display, param] of [
    [[{ label: 'Account', value: '\u200f1234 5678' }], 'context.display.0.value'],
    [[{ label: 'Amount', value: '12\u200f34' }], 'context.display.0.value'],
    [[{ label: '\u200fסכום', value: '12' }], 'context.display.0.label'],
  ] as const) {
    const { status, body } = await h.api('POST', '/sessions', {
      token: h.shop.server,
      body: { workflow: 'credit_application', context: { display } },
    })
    assert.deepEqual([status, body.error.reason, body.error.param], [400, 'invalid_member', param])
  }
})

test('rejects two labels that differ in a joiner only', async () => {
  const display = ['سه\u200cشنبه', 'سهشنبه'].map((label) => ({ label, value: '1' }))
  const { status } = await h.api('POST', '/sessions', {
    token: h.shop.server,
    body: { workflow: 'credit_application', context: { display } },
  })
  assert.equal(status, 400)
})
