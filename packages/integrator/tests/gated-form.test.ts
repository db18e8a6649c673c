import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gatedForm as expressForm } from '../src/form/express.ts'
import { gatedForm as fastifyForm } from '../src/form/fastify.ts'
import { gatedForm as fetchForm } from '../src/form/fetch.ts'
import type { GatedFormOptions } from '../src/form/gated-form.ts'
import { gatedForm as honoForm } from '../src/form/hono.ts'
import { gatedForm as nodeForm } from '../src/form/node.ts'
import {
  GATE_REMEDIES,
  type GateError,
  type GatePolicy,
  type MemoryTransaction,
  type ProtectOutcome,
} from '../src/index.ts'
import { BASE_URL } from './fake-service.ts'
import { TEXT_KINDS } from '../../../tests/harness/text-kinds.ts'
import { callNode } from './call-node.ts'
import { harness, OWNER, START_MS, WORKFLOW } from './harness.ts'

interface Draft {
  readonly amount: number
}
type Options = GatedFormOptions<unknown, MemoryTransaction, Draft, string>
type HeaderMap = Record<string, string>
/** The members of any answer. */
interface Body {
  readonly id: string
  readonly context: { readonly display: object }
  readonly outcome: string
  readonly result: string
  readonly error: { readonly code: string; readonly message: string; readonly param?: string }
}
interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly body: Body
}
type Send = (route: 'session' | 'submit', body: unknown, headers?: HeaderMap) => Promise<Reply>

const ADDRESS = '192.0.2.7'
const DRAFT: Draft = { amount: 12_500 }
const PAGE = { 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' }
const PAGE_URL = 'https://www.bank.example/route'

async function post(
  handler: (request: Request) => Promise<Response>,
  body: unknown,
  headers: HeaderMap = PAGE,
): Promise<Reply> {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const response = await handler(new Request(PAGE_URL, { method: 'POST', headers, body: text }))
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Body,
  }
}

/** How each framework calls a route. */
const ADAPTERS: Record<string, (options: Options) => Send> = {
  fetch: (options) => {
    const form = fetchForm(options)
    return (route, body, headers) => post(form[route], body, headers)
  },
  hono: (options) => {
    const form = honoForm(options)
    return (route, body, headers) => post((raw) => form[route]({ req: { raw } }), body, headers)
  },
  express: (options) => {
    const form = expressForm(options)
    return (route, body, headers = PAGE) =>
      new Promise((resolve, reject) => {
        let status = 0
        let sent: HeaderMap = {}
        const json = (reply: object) =>
          resolve({ status, headers: new Headers(sent), body: reply as Body })
        const set = (given: HeaderMap) => ((sent = given), { json })
        form[route]({ headers, body }, { status: (code) => ((status = code), { set }) }, reject)
      })
  },
  fastify: (options) => {
    const form = fastifyForm(options)
    return async (route, body, headers = PAGE) => {
      let status = 0
      let sent: HeaderMap = {}
      const code = (given: number) => ((status = given), { headers: (h: HeaderMap) => (sent = h) })
      const reply = await form[route]({ headers, body }, { code })
      return { status, headers: new Headers(sent), body: reply as Body }
    }
  },
  node: (options) => {
    const form = nodeForm(options)
    return async (route, body, headers = PAGE) => {
      const { status, headers: sent, text } = await callNode(form[route], { body, headers })
      return { status, headers: new Headers(sent), body: JSON.parse(text) as Body }
    }
  },
}

function setup(
  change: Partial<Options> = {},
  adapter: (options: Options) => Send = ADAPTERS['fetch']!,
  policy?: GatePolicy,
) {
  const h = harness(policy && { policy })
  const saved: Draft[] = []
  const outcomes: ProtectOutcome<string>[] = []
  const send = adapter({
    gate: h.gate,
    ...WORKFLOW,
    owner: () => OWNER,
    address: () => ADDRESS,
    record: () => DRAFT,
    display: ({ amount }) => [{ label: 'Amount', value: `€${amount}` }],
    accept: async (_tx, draft) => `A-${saved.push(draft)}`,
    onOutcome: (outcome) => void outcomes.push(outcome),
    ...change,
  })
  async function approved(): Promise<string> {
    const { body } = await send('session', {})
    h.service.bond(body.id)
    return body.id
  }
  return { ...h, send, approved, saved, outcomes }
}

for (const [name, adapter] of Object.entries(ADAPTERS)) {
  test(`${name}: creates a session from the record, and runs the action once`, async () => {
    const h = setup({}, adapter)
    const { status, headers, body } = await h.send('session', { context: { amount: 1 } })
    assert.equal(status, 201)
    assert.equal(headers.get('cache-control'), 'no-store')
    assert.equal('completion_secret' in body, false)
    assert.deepEqual(body.context.display, [{ label: 'Amount', value: '€12500' }])
    h.service.bond(body.id)
    const form = { ...DRAFT, session_id: body.id }
    const reply = await h.send('submit', form)
    assert.deepEqual([reply.status, reply.body], [200, { outcome: 'accepted', result: 'A-1' }])
    assert.equal((await h.send('submit', form)).status, 403)
    assert.deepEqual(h.saved, [DRAFT])
    assert.deepEqual(
      h.outcomes.map(({ outcome }) => outcome),
      ['completed', 'rejected'],
    )
  })

  test(`${name}: passes the address of the user on, or shares one limit by name`, async () => {
    const sent = async (address: Options['address']) => {
      const h = setup({ address }, adapter)
      await h.send('session', {})
      return (JSON.parse(h.service.seen[0]?.body ?? '') as Record<string, unknown>)[
        'end_user_address'
      ]
    }
    assert.equal(await sent(() => ADDRESS), ADDRESS)
    assert.equal(await sent(async () => '::ffff:192.0.2.7'), ADDRESS)
    assert.equal(await sent(() => 'fe80::1%eth0'), 'fe80::1')
    assert.equal(await sent('visitors_share_one_limit'), undefined)
  })

  test(`${name}: creates no session for a user without an address`, async () => {
    for (const address of [() => undefined, () => null, () => '', () => 'unknown']) {
      const h = setup({ address, onError: () => {} }, adapter)
      const rejection = { code: 'invalid_configuration', message: /address/ }
      await assert.rejects(h.send('session', {}), rejection)
      assert.equal(h.service.seen.length, 0)
    }
    const forgotten = undefined as unknown as Options['address']
    assert.throws(() => setup({ address: forgotten }, adapter), { code: 'invalid_configuration' })
  })

  test(`${name}: passes the secret of the browser on`, async () => {
    const origin = 'https://www.bank.example'
    const rule = { origin, firstBond: true }
    const h = setup({}, adapter, { requireBrowser: { [WORKFLOW.workflow]: rule } })
    const session_id = await h.approved()
    const browser_secret = 'b'.repeat(43)
    await h.send('submit', { ...DRAFT, session_id, browser_secret })
    const headers = new Headers(h.service.seen.at(-1)?.headers)
    assert.equal(headers.get('x-bond-browser-secret'), browser_secret)
  })

  for (const [kind, { typed, shown, problem }] of Object.entries(TEXT_KINDS))
    test(`${name}: ${shown === undefined ? 'rejects by name' : 'cleans'} ${kind}`, async () => {
      const display = () => [
        { label: 'Amount', value: '€1' },
        { label: 'Note', value: typed },
      ]
      const h = setup({ display }, adapter)
      const { status, body } = await h.send('session', {})
      if (shown === undefined) {
        const param = 'context.display.1.value'
        const message = `Check the field “Note” of the form: ${problem}.`
        assert.deepEqual([status, body.error], [400, { code: 'form_invalid', message, param }])
        assert.equal(h.service.seen.length, 0)
      } else {
        assert.equal(status, 201)
        assert.deepEqual(body.context.display, [
          { label: 'Amount', value: '€1' },
          { label: 'Note', value: shown },
        ])
      }
    })

  test(`${name}: reports an error of the configuration to the framework`, async () => {
    const h = setup({}, adapter)
    h.service.fault({ status: 401, body: '{"error":{"code":"unauthorized"}}' })
    await assert.rejects(h.send('session', {}), { code: 'unauthorized' })
  })
}

test('names the field that has no digest, and the pair that the service rejects', async () => {
  const broken = { amount: 1, note: '\ud800' }
  const invalid = await setup({ record: () => broken }).send('session', {})
  assert.deepEqual([invalid.status, invalid.body.error.param], [400, 'note'])

  const h = setup()
  const error = {
    code: 'invalid_request',
    reason: 'invalid_member',
    param: 'context.display.0.label',
  }
  h.service.fault({ status: 400, body: JSON.stringify({ error }) })
  const rejected = await h.send('session', {})
  assert.deepEqual(
    [rejected.status, rejected.body.error.code, rejected.body.error.param],
    [400, 'form_invalid', 'context.display.0.label'],
  )
  assert.match(rejected.body.error.message, /“Amount”/)
  const session_id = await h.approved()
  const submitted = await h.send('submit', { ...broken, session_id })
  assert.deepEqual([submitted.status, submitted.body.error.param], [400, 'note'])
})

test('a missing value of an optional field counts as empty', async () => {
  const display = () => [{ label: 'Note', value: undefined as unknown as string }]
  const { body } = await setup({ display }).send('session', {})
  assert.deepEqual(body.context.display, [{ label: 'Note', value: '—' }])
})

test('a form that changed after the approval runs nothing, and learns no reason', async () => {
  const h = setup()
  const session_id = await h.approved()
  for (const form of [{ amount: 99_999 }, {}, { ...DRAFT, more: 1 }, { amount: '12500' }]) {
    const { status, body } = await h.send('submit', { ...form, session_id })
    assert.deepEqual([status, body.error.code], [403, 'not_approved'])
    assert.doesNotMatch(JSON.stringify(body), /context_mismatch/)
  }
  assert.deepEqual(h.saved, [])
})

test('a submit without a session, or with that of another login, runs nothing', async () => {
  let owner = OWNER
  const h = setup({ owner: () => owner })
  const session_id = await h.approved()
  for (const id of [undefined, null, 7, '', {}, [session_id]])
    assert.equal((await h.send('submit', { ...DRAFT, session_id: id })).status, 403)
  owner = 'login-2'
  assert.equal((await h.send('submit', { ...DRAFT, session_id })).status, 403)
  assert.deepEqual(h.saved, [])
})

test('rejects a body without a form before any call', async () => {
  const h = setup()
  for (const body of ['', '{', '[]', 'null', '7', ' '.repeat(65_537), `"${'x'.repeat(70_000)}"`])
    assert.equal((await h.send('submit', body)).status, 400)
  const deep = `{"a":${'['.repeat(30_000)}${']'.repeat(30_000)}}`
  for (const body of [deep, '{"a":1e300}', '{"a":"\\ud800"}'])
    assert.equal((await h.send('submit', body)).body.error.code, 'form_invalid')
  const text = { ...PAGE, 'content-type': 'text/plain' }
  assert.equal((await h.send('submit', DRAFT, text)).status, 400)
  assert.equal(h.service.seen.length, 0)
})

test('a page of another site can use neither route', async () => {
  const h = setup({ origins: ['https://apply.bank.example'] })
  const foreign = [
    { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
    { 'sec-fetch-site': 'same-site', origin: 'https://blog.bank.example' },
    { 'sec-fetch-site': 'cross-site' },
    { origin: 'https://evil.example', host: 'www.bank.example' },
    { origin: 'null', host: 'www.bank.example' },
    { origin: 'https://apply.bank.example.evil.example' },
  ]
  for (const headers of foreign)
    for (const route of ['session', 'submit'] as const) {
      const { status, body } = await h.send(route, DRAFT, { ...PAGE_TYPE, ...headers })
      assert.deepEqual([status, body.error.code], [403, 'cross_site'])
    }
  const own = [
    {},
    { origin: 'https://www.bank.example', host: 'www.bank.example' },
    { 'sec-fetch-site': 'same-site', origin: 'https://apply.bank.example' },
  ]
  for (const headers of own)
    assert.equal((await h.send('session', {}, { ...PAGE_TYPE, ...headers })).status, 201)
})
const PAGE_TYPE = { 'content-type': 'application/json' }

test('without a login or a record there is no session', async () => {
  for (const owner of [undefined, null, ''])
    for (const route of ['session', 'submit'] as const) {
      const h = setup({ owner: () => owner })
      assert.equal((await h.send(route, DRAFT)).status, 401)
      assert.equal(h.service.seen.length, 0)
    }
  assert.equal((await setup({ record: () => undefined }).send('session', {})).status, 409)
})

test('an outage of the service is 503 with a time to wait', async () => {
  const h = setup()
  h.service.fault('refused', 'refused', 'refused', {
    status: 429,
    headers: { 'retry-after': '7' },
    body: '{"error":{"code":"rate_limited"}}',
  })
  const { status, headers } = await h.send('session', {})
  assert.deepEqual([status, headers.get('retry-after')], [503, '7'])
  const session_id = await h.approved()
  h.service.fault('refused', 'refused', 'refused', 'refused')
  assert.equal((await h.send('submit', { ...DRAFT, session_id })).status, 503)
})

test('onError receives each error of the gate, also one that the framework receives', async () => {
  const errors: GateError[] = []
  const h = setup({ onError: (error) => void errors.push(error) })
  const session_id = await h.approved()
  const outage = ['refused', 'refused', 'refused', 'refused'] as const
  h.service.fault(...outage)
  await h.send('session', {})
  h.service.fault(...outage)
  await h.send('submit', { ...DRAFT, session_id })
  h.service.fault({ status: 401, body: '{"error":{"code":"unauthorized"}}' })
  await h.send('session', {}).catch(() => {})
  h.service.fault({ status: 401, body: '{"error":{"code":"unauthorized"}}' })
  await h.send('submit', { ...DRAFT, session_id })
  assert.deepEqual(
    errors.map(({ code }) => code),
    ['service_unavailable', 'service_unavailable', 'unauthorized', 'unauthorized'],
  )
})

test('onError receives the error of a completion that is pending', async () => {
  const errors: GateError[] = []
  const h = setup({ onError: (error) => void errors.push(error) })
  const session_id = await h.approved()
  h.service.fault(undefined, ...Array.from({ length: 4 }, () => ({ status: 503 })))
  assert.equal((await h.send('submit', { ...DRAFT, session_id })).status, 200)
  assert.deepEqual(
    errors.map(({ code }) => code),
    ['service_unavailable'],
  )
})

test('without onError, an error is a warning in the log, at most one a minute', async (t) => {
  const warn = t.mock.method(console, 'warn', () => {})
  t.mock.timers.enable({ apis: ['Date'], now: START_MS })
  const h = setup()
  const fail = () => {
    h.service.fault('refused', 'refused', 'refused', 'refused')
    return h.send('session', {})
  }
  await fail()
  await fail()
  assert.equal(warn.mock.callCount(), 1)
  const line = String(warn.mock.calls[0]?.arguments[0])
  for (const part of [
    'service_unavailable',
    GATE_REMEDIES.service_unavailable,
    `${BASE_URL}/sessions`,
    'ECONNREFUSED',
  ])
    assert.ok(line.includes(part), line)
  assert.equal(line.split('ECONNREFUSED').length, 2, 'the cause is named once')
  t.mock.timers.setTime(START_MS + 61_000)
  await fail()
  assert.equal(warn.mock.callCount(), 2)
})

test('a weak bond runs the review, or nothing without one', async () => {
  const weak = { human_presence_confidence: 0.54 }
  for (const review of [undefined, async (_tx: MemoryTransaction, d: Draft) => `R-${d.amount}`]) {
    const h = setup(review && { review })
    const session_id = await h.approved()
    h.service.bond(session_id, weak)
    const { status, body } = await h.send('submit', { ...DRAFT, session_id })
    if (review) assert.deepEqual([status, body.result], [200, 'R-12500'])
    else assert.equal(status, 403)
  }
})

test('parse turns text fields into the shape of the record', async () => {
  const parse = ({ amount }: Readonly<Record<string, unknown>>) =>
    typeof amount === 'string' && /^\d+$/.test(amount) ? { amount: Number(amount) } : undefined
  const h = setup({ parse })
  const session_id = await h.approved()
  assert.equal((await h.send('submit', { amount: 'much', session_id })).status, 400)
  assert.equal((await h.send('submit', { amount: '12500', session_id })).status, 200)
})
