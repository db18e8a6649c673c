import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import type { WebhookDeliveryList, WebhookEndpointRecord, WebhookEventLog } from '@bonded/contract'
import { drawDetails } from '../../src/portal/details.ts'
import { drawEndpoints } from '../../src/portal/endpoints.ts'
import { drawFilter } from '../../src/portal/filter.ts'
import { drawRow } from '../../src/portal/row.ts'
import { createPortalService, PortalFailure } from '../../src/portal/service.ts'
import { outline, SmallElement, useSmallDocument } from './small-document.ts'

useSmallDocument()
const HOUR = 60 * 60_000
const AT = '2026-11-21T09:05:07.000Z'
const rooted = (nodes: readonly unknown[]) => {
  const root = new SmallElement('main', useSmallDocument())
  root.nodes = nodes as SmallElement[]
  return root
}
/** A time as the reader's own, which depends on the machine. */
const time = (text: string) =>
  `<time datetime="${text}" class="muted">${new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'medium' }).format(new Date(text))}</time>`

test('draws each delivery as a line with its state, target, attempts and time', () => {
  const drawn = (state: string, attempts: number) => {
    const delivery = { type: 'session.bonded', state, attempts, created_at: AT }
    const row = drawRow(delivery as WebhookDeliveryList['deliveries'][number], 'https://a.example')
    return outline([row.item])
  }
  for (const [state, attempts, words, count] of [
    ['pending', 0, 'Pending', '0 attempts'],
    ['pending', 1, 'Retrying', '1 attempt'],
    ['delivered', 2, 'Delivered', '2 attempts'],
    ['failed', 9, 'Failed', '9 attempts'],
    ['held', 0, 'Held', '0 attempts'],
    ['later', 0, 'later', '0 attempts'],
  ] as const)
    assert.equal(
      drawn(state, attempts),
      `<li><details><summary><span class="state" data-state="${state}">${words}</span><code>session.bonded</code><span class="target">https://a.example</span><span class="muted">${count}</span>${time(AT)}</summary><div class="details"></div></details></li>`,
    )
})

test('writes times as those of the reader', () => {
  const local = new Date(2026, 10, 21, 9, 5, 7).toISOString()
  const delivery = { type: 'a', state: 'held', attempts: 0, created_at: local }
  const row = drawRow(delivery as unknown as WebhookDeliveryList['deliveries'][number], '')
  assert.match(outline([row.item]), />Nov 21, 2026, 9:05:07\sAM<\/time>/)
})

type Delivery = WebhookEventLog['deliveries'][number]
const details = (members: Partial<Delivery>) =>
  outline(
    drawDetails({
      event_id: 'evt_1',
      payload: '{"a":1}',
      log: [],
      next_attempt_at: null,
      ...members,
    } as Delivery),
  ).split('\n')

test('draws the payload, and says when the next attempt is', () => {
  assert.deepEqual(details({}), [
    '<p><code>evt_1</code></p>',
    '<h3>Payload</h3>',
    '<pre tabindex="0" aria-label="Payload">{',
    '  "a": 1',
    '}</pre>',
    '<h3>Attempts</h3>',
    '<p class="muted">No attempt yet.</p>',
  ])
  assert.equal(details({ next_attempt_at: AT })[1], `<p>Next attempt: ${time(AT)}</p>`)
  assert.equal(details({ payload: '{' })[2], '<pre tabindex="0" aria-label="Payload">{</pre>')
})

test('explains each attempt: its status, or why there was no response', () => {
  const attempts = (log: readonly object[]) =>
    details({ log: log as Delivery['log'] })
      .join('')
      .split('<ol class="attempts">')[1]
  const line = (result: string, more = '') =>
    `<li><p><strong>${result}</strong> after 12 ms, ${time(AT)}</p>${more}</li>`
  for (const [error, text] of [
    ['address_rejected', 'The address is not public'],
    ['name_not_found', 'The name was not found'],
    ['not_reachable', 'The host was not reachable'],
    ['intermediate_missing', 'The server sends its certificate without the intermediate one'],
    ['certificate_expired', 'The certificate has expired'],
    ['certificate_of_other_name', 'The certificate is of another name'],
    ['certificate_untrusted', 'The certificate is not of a public authority'],
    ['client_certificate_required', 'The server asks for a client certificate'],
    ['tls_failed', 'TLS failed'],
    ['timed_out', 'No response within 15 seconds'],
    ['closed_early', 'The connection ended early'],
    ['service_failed', 'The service could not open a connection'],
    ['secret_unavailable', 'The secret could not be read'],
    ['later', 'later'],
  ] as const) {
    const log = [{ at: AT, ms: 12, status: null, body: null, error }]
    assert.equal(attempts(log), `${line(text)}</ol>`)
  }
  const log = [200, 299, 300, 399, 400].map((status, index) => ({
    at: AT,
    ms: 12,
    status,
    body: index === 1 ? 'broken' : '',
    error: null,
  }))
  const redirect = ': redirects are not followed'
  assert.equal(
    attempts(log),
    [
      line('Status 200'),
      line('Status 299', '<pre tabindex="0" aria-label="Response">broken</pre>'),
      line(`Status 300${redirect}`),
      line(`Status 399${redirect}`),
      line('Status 400'),
      '</ol>',
    ].join(''),
  )
})

const ENDPOINT: WebhookEndpointRecord = {
  endpoint_id: 'wep_1',
  url: 'https://a.example/',
  events: null,
  enabled: true,
  disabled_reason: null,
  failures: 0,
  paused_until: null,
} as Partial<WebhookEndpointRecord> as WebhookEndpointRecord

test('says how each endpoint stands', (context) => {
  context.mock.timers.enable({ apis: ['Date'], now: Date.parse(AT) })
  const standing = (members: Partial<WebhookEndpointRecord>) =>
    rooted(drawEndpoints([{ ...ENDPOINT, ...members }], () => {})).all('.muted')[0]
  const later = '2026-11-21T09:05:08.000Z'
  for (const [members, shown] of [
    [{}, '<span class="state" data-state="delivered">Healthy</span> Events: all'],
    [
      { events: ['session.bonded', 'session.killed'] as never },
      '<span class="state" data-state="delivered">Healthy</span> Events: session.bonded, session.killed',
    ],
    [{ enabled: false }, '<span class="state" data-state="failed">Disabled</span> Events: all'],
    [
      { enabled: false, disabled_reason: 'gone' },
      '<span class="state" data-state="failed">Disabled: it answered 410</span> Events: all',
    ],
    [{ failures: 1 }, '<span class="state" data-state="held">1 failure</span> Events: all'],
    [
      { failures: 2, paused_until: AT },
      '<span class="state" data-state="held">2 failures in a row</span> Events: all',
    ],
    [
      { failures: 2, paused_until: later },
      `<span class="state" data-state="held">2 failures in a row</span> paused until ${time(later)} Events: all`,
    ],
  ] as const)
    assert.equal(outline([standing(members)]), `<p class="muted">${shown}</p>`)
  assert.equal(
    outline(drawEndpoints([], () => {})),
    '<h2>Endpoints</h2>\n<p class="muted">No endpoints.</p>',
  )
})

test('recovers the time that the reader chose, of the endpoint with the button', (context) => {
  const now = Date.parse(AT)
  context.mock.timers.enable({ apis: ['Date'], now })
  const recovered: unknown[] = []
  const endpoints = [ENDPOINT, { ...ENDPOINT, endpoint_id: 'wep_2', url: 'https://b.example/' }]
  const root = rooted(drawEndpoints(endpoints, (...given) => void recovered.push(given)))
  assert.deepEqual(
    root.all('.url').map(({ textContent }) => textContent),
    ['https://a.example/', 'https://b.example/'],
  )
  const select = root.all('select')[1]
  const form = root.all('form')[1]
  assert.ok(select && form)
  assert.equal(select.getAttribute('aria-label'), 'Time to recover for https://b.example/')
  assert.equal(form.all('button')[0]?.textContent, 'Send again what failed in')
  const [sentence] = form.all('.muted')
  assert.equal(sentence?.textContent, 'Sends every event of that time that failed or was held.')
  assert.equal(form.all('button')[0]?.getAttribute('aria-describedby'), sentence.id)
  for (const [index, [label, ms]] of [
    ['the last hour', HOUR],
    ['the last day', 24 * HOUR],
    ['the last 7 days', 168 * HOUR],
    ['the last 30 days', 720 * HOUR],
  ].entries()) {
    const option: SmallElement | undefined = select.all('option')[index]
    assert.equal(option?.textContent, label)
    select.value = option?.value ?? ''
    let isPrevented = false
    form.dispatch('submit', { preventDefault: () => (isPrevented = true) })
    assert.ok(isPrevented)
    assert.deepEqual(recovered.pop(), ['wep_2', new Date(now - Number(ms)).toISOString()])
  }
})

test('filters by state, event and endpoint, one after another', () => {
  const chosen: unknown[] = []
  const filter = { state: 'failed', type: '', endpoint_id: '' }
  const root = rooted(drawFilter(filter, [ENDPOINT], (next) => void chosen.push(next)))
  assert.deepEqual(
    root.children.map((label) => label.textContent.replace(/All.*$/, '')),
    ['State', 'Event', 'Endpoint'],
  )
  const [state, type, endpoint] = root.all('select')
  assert.ok(state && type && endpoint)
  assert.deepEqual([state.value, type.value, endpoint.value], ['failed', '', ''])
  const options = (list: SmallElement) =>
    list.all('option').map(({ value, textContent }) => `${value}=${textContent}`)
  assert.deepEqual(options(state), [
    '=All',
    'pending=pending',
    'delivered=delivered',
    'failed=failed',
    'held=held',
  ])
  assert.ok(options(type).includes('session.bonded=session.bonded'))
  assert.deepEqual(options(endpoint), ['=All', 'wep_1=https://a.example/'])
  type.value = 'session.bonded'
  type.dispatch('change')
  endpoint.value = 'wep_1'
  endpoint.dispatch('change')
  assert.deepEqual(chosen, [
    { state: 'failed', type: 'session.bonded', endpoint_id: '' },
    { state: 'failed', type: 'session.bonded', endpoint_id: 'wep_1' },
  ])
})

test('calls the service with the current token, and each filter that is set', async () => {
  const limits: number[] = []
  const timeout = mock.method(AbortSignal, 'timeout', (ms: number) => {
    limits.push(ms)
    return new AbortController().signal
  })
  const calls: unknown[] = []
  let token = 'wpt_1'
  const answers = { endpoints: ['e'], deliveries: 7 }
  const service = createPortalService(
    (async (url: string, { signal: _signal, ...init }: { signal?: unknown }) => {
      calls.push([url, init])
      return { ok: true, status: 200, json: async () => answers }
    }) as never,
    () => token,
  )
  const get = (path: string) => [
    `/api/v1${path}`,
    {
      method: 'GET',
      headers: { authorization: `Bearer ${token}` },
      credentials: 'omit',
      redirect: 'error',
    },
  ]
  const post = (path: string, body: object) => [
    `/api/v1${path}`,
    {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      credentials: 'omit',
      redirect: 'error',
    },
  ]
  assert.equal(await service.endpoints(), answers)
  assert.deepEqual(calls.pop(), get('/webhook-endpoints'))
  token = 'wpt_2'
  const filter = { state: 'held', type: '', endpoint_id: 'wep_1' }
  await service.deliveries(filter, 'del_9')
  assert.deepEqual(
    calls.pop(),
    get('/webhook-deliveries?state=held&endpoint_id=wep_1&before=del_9'),
  )
  await service.deliveries({ state: '', type: 'session.bonded', endpoint_id: '' }, null)
  assert.deepEqual(calls.pop(), get('/webhook-deliveries?type=session.bonded'))
  assert.equal(await service.event('evt_1'), 7)
  assert.deepEqual(calls.pop(), get('/webhook-deliveries/evt_1'))
  assert.equal(await service.retry('evt_1', 'wep_1'), 7)
  assert.deepEqual(calls.pop(), post('/webhook-deliveries/evt_1/retry', { endpoint_id: 'wep_1' }))
  assert.equal(await service.recover('wep_1', AT), 7)
  assert.deepEqual(calls.pop(), post('/webhook-endpoints/wep_1/recovery', { since: AT }))
  assert.deepEqual(new Set(limits), new Set([15_000]))
  timeout.mock.restore()
})

test('says in words what failed, and whether only a new link helps', async () => {
  const failing = (respond: () => Promise<object>) =>
    createPortalService(respond as never, () => 'wpt_1').endpoints()
  for (const [status, message, isFinal] of [
    [401, 'This link has expired. Open the deliveries again from your site.', true],
    [429, 'Too many requests. Wait a minute, and try again.', false],
    [500, 'The service could not do this (500). Try again.', false],
    [404, 'The service could not do this (404). Try again.', false],
  ] as const)
    await assert.rejects(
      failing(async () => ({ ok: false, status })),
      (failure) => {
        assert.ok(failure instanceof PortalFailure)
        assert.deepEqual([failure.message, failure.isFinal], [message, isFinal])
        return true
      },
    )
  await assert.rejects(
    failing(() => Promise.reject(new TypeError('no network'))),
    { message: 'No connection. Try again.', isFinal: false },
  )
})
