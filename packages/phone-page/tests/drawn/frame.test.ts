import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BrowserFrame } from '@bonded/contract'
import type { FrameScreen } from '../../src/frame/confirm.ts'
import { drawFrame } from '../../src/frame/draw.ts'
import { createFrameService } from '../../src/frame/service.ts'
import { readStart, type Start } from '../../src/frame/parent-message.ts'
import en from '../../src/frame/en.json' with { type: 'json' }
import { outline, SmallElement, useSmallDocument } from './small-document.ts'

const document = useSmallDocument()
const REQUEST = {
  tenant_name: 'Harbor  Bank',
  workflow: 'pay',
  action: 'submit',
  workflow_title: null,
  action_title: null,
  amount: '€12,500.00',
} as Partial<BrowserFrame> as BrowserFrame

function draw(screen: FrameScreen, root = new SmallElement('main', document)) {
  const acts: string[] = []
  drawFrame(root, screen, {
    words: en,
    languages: ['de', 'en'],
    titleOf: ({ workflow, action }, languages) => `${workflow}, ${action} (${languages.join()})`,
    onConfirm: () => void acts.push('confirm'),
    onReopen: () => void acts.push('reopen'),
  })
  return { root, text: outline(root.nodes, acts) }
}

const TITLE = '# Confirm in this browser'
const ASKED =
  '<p class="request">{Harbor<span class="blank"> </span><span class="blank"> </span>Bank}: {pay, submit (de,en)} <strong dir="auto" translate="no">€12,500.00</strong></p>'
const button = (then: string) => `<button type="button">Confirm${then}</button>`
const status = (text: string) => `<p role="status">${text}</p>`
const says = (text: string) => `# <span role="status">${text}</span>`

for (const [screen, parts] of [
  [{ name: 'opening' }, [TITLE]],
  [
    { name: 'confirm', request: REQUEST, note: null },
    [
      TITLE,
      ASKED,
      button(' → confirm'),
      status('Your browser may show a QR code of its own. Scan it with the same phone.'),
    ],
  ],
  [
    { name: 'confirm', request: REQUEST, note: 'retry' },
    [
      TITLE,
      ASKED,
      button(' → confirm'),
      status('Not confirmed. Use the passkey of the phone that approved.'),
    ],
  ],
  [
    { name: 'confirm', request: { ...REQUEST, amount: null }, note: 'offline' },
    [
      TITLE,
      ASKED.replace(/ <strong.*strong>/, ''),
      button(' → confirm'),
      status('No connection. Try again.'),
    ],
  ],
  [
    { name: 'confirming', request: REQUEST },
    [
      TITLE,
      ASKED,
      '<button type="button" aria-disabled="true">Confirm</button>',
      status('Waiting for your passkey …'),
    ],
  ],
  [{ name: 'offline' }, [TITLE, button(' → reopen'), status('No connection. Try again.')]],
  [{ name: 'done' }, [says('Confirmed')]],
  [
    { name: 'ended' },
    [says('This request can no longer be confirmed here. See the page around this box.')],
  ],
  [
    { name: 'unsupported' },
    [says('This browser cannot use passkeys here. Open the page on your phone.')],
  ],
  [{ name: 'misplaced' }, [says('This box works only in the page of the organization that asks.')]],
] as readonly (readonly [FrameScreen, readonly string[]])[])
  test(`draws the frame: ${screen.name} ${'note' in screen ? screen.note : ''}`, () =>
    assert.equal(
      draw(screen).text.replaceAll('\n', ''),
      `<article data-screen="${screen.name}">${parts.join('')}</article>`,
    ))

test('keeps the focus in the frame, on its button or its heading', () => {
  const { root } = draw({ name: 'offline' })
  document.activeElement = undefined
  draw({ name: 'confirming', request: REQUEST }, root)
  assert.equal(document.activeElement, undefined, 'the frame takes no focus')
  root.all('button')[0]?.focus()
  draw({ name: 'offline' }, root)
  assert.equal(document.activeElement, root.all('button')[0])
  draw({ name: 'done' }, root)
  assert.equal(document.activeElement, root.all('h1')[0])
})

const PARENT = {} as unknown as Parameters<typeof readStart>[0]['source']
const START = readStart(
  {
    source: PARENT,
    origin: 'https://shop.example',
    data: {
      bonded: 'frame/v1',
      type: 'start',
      session_id: `sess_${'0'.repeat(22)}`,
      watch_token: `bwt_${'A'.repeat(43)}`,
      publishable_key: `pk_beta_${'0'.repeat(22)}`,
      commitment: 'C'.repeat(43),
      language: 'x'.repeat(65),
    },
  },
  PARENT,
) as Start

/** The calls of the frame, with the response of the service. */
function calling(respond: () => Promise<object>) {
  const calls: (readonly [url: string, init: Record<string, unknown>])[] = []
  const service = createFrameService((async (url: string, init: Record<string, unknown>) => {
    calls.push([url, init])
    return respond()
  }) as never)
  return { calls, service }
}
const responding = (status: number, body: unknown) =>
  calling(async () => ({ status, ok: status < 300, json: async () => body }))

test('calls the service with the values of the session only in headers', async () => {
  for (const [act, path, body] of [
    ['open', 'browser/frame', { parent_origin: 'https://shop.example' }],
    [
      'prove',
      'browser',
      { commitment: 'C'.repeat(43), assertion: { id: 'A' }, parent_origin: 'https://shop.example' },
    ],
  ] as const) {
    const { calls, service } = responding(200, {})
    await (act === 'open' ? service.open(START) : service.prove(START, { id: 'A' }))
    const [[url, { signal, body: sent, ...init }] = ['', { body: '', signal: undefined }]] = calls
    assert.equal(url, `/api/v1/sessions/sess_${'0'.repeat(22)}/${path}`)
    assert.deepEqual(JSON.parse(String(sent)), body)
    assert.deepEqual(init, {
      method: 'POST',
      headers: {
        authorization: `Bearer pk_beta_${'0'.repeat(22)}`,
        'x-bond-watch': `bwt_${'A'.repeat(43)}`,
        'content-type': 'application/json',
      },
      credentials: 'omit',
      redirect: 'error',
    })
    assert.ok(signal instanceof AbortSignal)
  }
})

test('tells a rejection from a service that can be called again', async () => {
  const rejection = (reason?: string) => ({ error: { reason } })
  for (const [status, body, result] of [
    [200, { a: 1 }, { kind: 'accepted', value: { a: 1 } }],
    [
      400,
      rejection('browser_proof_invalid'),
      { kind: 'rejected', reason: 'browser_proof_invalid' },
    ],
    [403, {}, { kind: 'rejected', reason: 'undefined' }],
    [429, rejection('rate_limited'), { kind: 'offline' }],
    [499, rejection('x'), { kind: 'rejected', reason: 'x' }],
    [500, rejection('x'), { kind: 'offline' }],
    [503, rejection('overloaded'), { kind: 'offline' }],
  ] as const)
    assert.deepEqual(await responding(status, body).service.open(START), result, String(status))
  const lost = calling(() => Promise.reject(new TypeError('no network')))
  assert.deepEqual(await lost.service.open(START), { kind: 'offline' })
})

test('takes 64 characters of a language at most', () =>
  assert.equal(START.language, 'x'.repeat(64)))
