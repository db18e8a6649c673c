import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type BondRequest,
  checkRequest,
  checkSession,
  checkSetup,
  type Setup,
} from '../../src/arguments.ts'

/* What a page passes to `Pulse`: what is accepted, and the words of each rejection. */

Object.assign(globalThis, { document: { baseURI: 'https://shop.example/app/form' } })
const ORIGIN = 'https://bond.example'
const SETUP: Setup = { publishableKey: 'pk_beta_0Az', workflow: 'credit_application' }
const SESSION = {
  id: 'sess_1',
  api_base_url: 'https://bond.example/',
  websocket_url: 'wss://bond.example/sessions/sess_1',
  watch_token: 'bwt_1',
  workflow: 'credit_application',
  action: 'submit',
}

const thrown = (act: () => unknown): readonly unknown[] => {
  try {
    act()
  } catch (error) {
    const { name, code, message } = error as { name: string; code: string; message: string }
    assert.equal(name, 'PulseError')
    return [code, message]
  }
  return []
}
const ENDPOINT =
  'Pass `sessionEndpoint`: an address of your backend that creates a session, such as /bond-session.'
const WORKFLOW =
  'Pass `workflow`: a workflow of this key, such as credit_application, of A-Z a-z 0-9 . _ -, at most 64 characters.'
const KEY = 'Pass `publishableKey`: the browser key of your tenant, pk_beta_…'

test('names the fix of each wrong option of init', () => {
  for (const [options, code, message] of [
    [{ publishableKey: undefined }, 'publishable_key_invalid', KEY],
    [{ publishableKey: 'pk_beta_' }, 'publishable_key_invalid', KEY],
    [{ publishableKey: 'pk_beta_a b' }, 'publishable_key_invalid', KEY],
    [{ publishableKey: 'xpk_beta_a' }, 'publishable_key_invalid', KEY],
    [
      { publishableKey: 'sk_beta_a' },
      'server_credential_exposed',
      'This is a server credential. Revoke it now, and pass the browser key.',
    ],
    [{ workflow: undefined }, 'workflow_invalid', WORKFLOW],
    [{ workflow: 'a b' }, 'workflow_invalid', WORKFLOW],
    [{ workflow: 'x'.repeat(65) }, 'workflow_invalid', WORKFLOW],
    [
      { containerId: '' },
      'container_id_invalid',
      'Pass `containerId`: the id of the container, or mark it with data-pulse-widget.',
    ],
    [{ sessionEndpoint: '' }, 'session_endpoint_invalid', ENDPOINT],
    [{ sessionEndpoint: 'https://' }, 'session_endpoint_invalid', ENDPOINT],
    [{ sessionEndpoint: 'ftp://a.example/' }, 'session_endpoint_invalid', ENDPOINT],
    [
      { sessionEndpoint: 'https://bond.example/api/v1/sessions' },
      'session_endpoint_invalid',
      '`sessionEndpoint` is the service. Pass an address of your backend that creates a session, such as /bond-session.',
    ],
    [
      { sessionEndpointCredentials: 'omit' },
      'session_endpoint_credentials_invalid',
      'Pass `sessionEndpointCredentials`: same-origin or include.',
    ],
    [{ locale: '' }, 'locale_invalid', 'Pass `locale`: a language tag, such as de or pt-BR.'],
  ] as const)
    assert.deepEqual(
      thrown(() => checkSetup({ ...SETUP, ...options } as Setup, ORIGIN)),
      [code, message],
      JSON.stringify(options),
    )
  assert.deepEqual(
    thrown(() => checkSetup(SETUP, null)),
    [
      'script_not_hosted',
      'Load pulse.js from the service: by a tag, not as a module, or loadPulse().',
    ],
  )
  assert.equal(thrown(() => checkSetup(undefined as never, ORIGIN))[0], 'publishable_key_invalid')
})

test('keeps each option of init, and has a default for those that are left out', () => {
  const defaults = {
    publishableKey: 'pk_beta_0Az',
    workflow: 'credit_application',
    containerId: undefined,
    sessionEndpoint: undefined,
    sessionEndpointCredentials: 'same-origin',
    look: [],
    locale: undefined,
    origin: ORIGIN,
  }
  assert.deepEqual(checkSetup(SETUP, ORIGIN), defaults)
  const nothing = {
    containerId: null,
    sessionEndpoint: null,
    sessionEndpointCredentials: null,
    appearance: null,
    locale: null,
  }
  assert.deepEqual(checkSetup({ ...SETUP, ...nothing }, ORIGIN), defaults)
  const given: Setup = {
    publishableKey: 'pk_beta_9',
    workflow: 'x'.repeat(64),
    containerId: 'box',
    sessionEndpoint: 'bond-session?a=1',
    sessionEndpointCredentials: 'include',
    appearance: { theme: 'dark', accent: '#C0ffee', radius: 24, font: 'Inter, sans-serif' },
    locale: 'pt-BR',
  }
  assert.deepEqual(checkSetup(given, ORIGIN), {
    publishableKey: 'pk_beta_9',
    workflow: 'x'.repeat(64),
    containerId: 'box',
    sessionEndpoint: 'https://shop.example/app/bond-session?a=1',
    sessionEndpointCredentials: 'include',
    look: [
      ['theme', 'dark'],
      ['accent', '#C0ffee'],
      ['radius', '24'],
      ['font', 'Inter, sans-serif'],
    ],
    locale: 'pt-BR',
    origin: ORIGIN,
  })
  for (const sessionEndpoint of ['https://bond.example/own', 'https://a.example/api/v1/sessions'])
    assert.equal(checkSetup({ ...SETUP, sessionEndpoint }, ORIGIN).sessionEndpoint, sessionEndpoint)
})

test('accepts each appearance at its limit, and none beyond it', () => {
  const looks = (appearance: object | string) =>
    thrown(() => checkSetup({ ...SETUP, appearance: appearance as object }, ORIGIN))
  for (const accepted of [
    {},
    { theme: 'light' },
    { theme: 'auto' },
    { radius: 0 },
    { radius: 19 },
    { radius: 24 },
    { font: 'x'.repeat(200) },
    { accent: '#0aF09f' },
  ])
    assert.deepEqual(looks(accepted), [], JSON.stringify(accepted))
  for (const rejected of [
    'dark',
    { theme: 'Dark' },
    { radius: 25 },
    { radius: -1 },
    { radius: 1.5 },
    { font: '' },
    { font: 'x'.repeat(201) },
    { font: 'url(a)' },
    { accent: '#fff' },
    { accent: 'red' },
  ])
    assert.deepEqual(
      looks(rejected),
      [
        'appearance_invalid',
        'Pass `appearance` as { theme: light, dark or auto, accent: #rrggbb, radius: 0 to 24, font: font families }.',
      ],
      JSON.stringify(rejected),
    )
  const auto = checkSetup({ ...SETUP, appearance: { theme: 'auto', radius: 3 } }, ORIGIN)
  assert.deepEqual(auto.look, [['radius', '3']])
})

test('names the fix of each wrong option of requireBond', () => {
  const setup = checkSetup({ ...SETUP, sessionEndpoint: '/bond-session' }, ORIGIN)
  const cyclic: { self?: unknown } = {}
  cyclic.self = cyclic
  const ACTION =
    'Pass `action`: the protected action, such as submit_application, of A-Z a-z 0-9 . _ -, at most 64 characters.'
  for (const [options, code, message] of [
    [{ action: undefined }, 'action_invalid', ACTION],
    [{ action: '' }, 'action_invalid', ACTION],
    [{ onRetry: 'again' }, 'on_retry_invalid', 'Pass `onRetry`: a function.'],
    [{ context: cyclic }, 'context_invalid', 'Pass a `context` that JSON can hold.'],
    [
      { session: {} },
      'session_invalid',
      'Pass `session`: the public session of your backend, with websocket_url.',
    ],
  ] as const)
    assert.deepEqual(
      thrown(() => checkRequest(setup, { action: 'submit', ...options } as BondRequest)),
      [code, message],
    )
  assert.deepEqual(
    thrown(() => checkRequest(undefined, { action: 'submit' })),
    ['not_initialised', 'Call Pulse.init before Pulse.requireBond.'],
  )
  assert.deepEqual(
    thrown(() => checkRequest(checkSetup(SETUP, ORIGIN), { action: 'submit' })),
    ['session_endpoint_invalid', 'Pass `session` to requireBond, or `sessionEndpoint` to init.'],
  )
})

test('keeps each option of requireBond, with the context as JSON', () => {
  const setup = checkSetup(SETUP, ORIGIN)
  const onRetry = () => {}
  const at = new Date(0)
  const request = checkRequest(setup, {
    action: 'submit',
    session: SESSION,
    context: { at },
    onRetry,
  })
  assert.equal(request.onRetry, onRetry)
  assert.equal(request.action, 'submit')
  assert.deepEqual(request.context, { at: '1970-01-01T00:00:00.000Z' })
  assert.deepEqual({ ...request.session }, SESSION)
  const without = checkRequest(checkSetup({ ...SETUP, sessionEndpoint: '/a' }, ORIGIN), {
    action: 'submit',
    session: null,
    onRetry: null,
  })
  assert.deepEqual(
    { ...without },
    {
      action: 'submit',
      session: undefined,
      context: undefined,
      onRetry: undefined,
    },
  )
})

test('takes a session of its own purpose, without the secret of the backend', () => {
  const expected = { workflow: 'credit_application', action: 'submit' }
  const check = (given: unknown) => thrown(() => checkSession(given, expected))
  const secret = [
    'completion_secret_exposed',
    'Your backend sent completion_secret to the browser. Send publicSession(session) instead.',
  ]
  const { workflow: _workflow, action: _action, ...unnamed } = SESSION
  const { watch_token: _token, ...withoutToken } = SESSION
  const inAddress = { ...withoutToken, websocket_url: `${SESSION.websocket_url}?watch_token=bwt_1` }
  for (const accepted of [SESSION, { session: SESSION }, unnamed, inAddress])
    assert.deepEqual(check(accepted), [])
  assert.deepEqual(check({ session: SESSION, completion_secret: 's' }), secret)
  assert.deepEqual(check({ session: { ...SESSION, completion_secret: 's' } }), secret)
  assert.deepEqual(check({ ...SESSION, workflow: 'other' }), [
    'session_mismatch',
    'This session is for other/submit, not credit_application/submit.',
  ])
  assert.deepEqual(check({ ...SESSION, action: 'other' }), [
    'session_mismatch',
    'This session is for credit_application/other, not credit_application/submit.',
  ])
  for (const broken of [
    undefined,
    'sess_1',
    withoutToken,
    { ...SESSION, id: 1 },
    { ...SESSION, api_base_url: 'ftp://bond.example/' },
    { ...SESSION, websocket_url: 'https://bond.example/' },
  ])
    assert.equal(check(broken)[0], 'session_invalid', JSON.stringify(broken))
})
