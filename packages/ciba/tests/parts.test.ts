import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { Secret } from '@bonded/contract'
import { GateError } from '@bonded/integrator'
import { ApprovalError, NotStarted } from '@bonded/integrator/approval'
import type { Provider } from 'oidc-provider'
import pino from 'pino'
import { fetchBy } from '../src/checked-send.ts'
import { cibaCommand } from '../src/command.ts'
import { Notices, type NoticesOptions } from '../src/notices.ts'
import { oauthError } from '../src/oauth-error.ts'
import { notifierOf } from '../src/ping.ts'
import { ServiceClient } from '../src/service-client.ts'
import type { Notice } from '../src/sqlite-rows.ts'

/** A log whose lines a test reads, without what differs in each run. */
function logOf() {
  const lines: Record<string, unknown>[] = []
  const options = { base: null, timestamp: false }
  const log = pino(options, { write: (line) => void lines.push(JSON.parse(line)) })
  return { log, lines }
}

test('each failure is the error of OAuth that tells a client what it can do', () => {
  const unavailable = new Error('later')
  const gate = (code: 'invalid_request' | 'rate_limited', details = {}) =>
    new GateError(code, 'Why.', details)
  const approval = (code: ApprovalError['code']) => new ApprovalError(code, 'Why.')
  const used = 'the approval was used, and authorizes one token'
  for (const [failure, error, description] of [
    [approval('arguments_invalid'), 'invalid_authorization_details', 'Why.'],
    [approval('text_too_long'), 'invalid_authorization_details', 'Why.'],
    [approval('not_approved'), 'access_denied', 'Why.'],
    [approval('already_executed'), 'invalid_grant', used],
    [approval('outcome_unknown'), 'invalid_grant', used],
    [approval('approval_unknown'), 'invalid_grant', used],
    [gate('invalid_request', { reason: 'subject_has_no_phone' }), 'unknown_user_id', 'Why.'],
    [gate('invalid_request', { reason: 'inbox_paused' }), 'access_denied', 'Why.'],
    [
      gate('invalid_request', { param: 'context.display.0.value' }),
      'invalid_authorization_details',
      'Why.',
    ],
  ] as const) {
    const wrapped = new NotStarted('It did not start.', { cause: failure })
    for (const given of [failure, wrapped, new NotStarted('Again.', { cause: wrapped })]) {
      const found = oauthError(given, () => unavailable) as Record<string, unknown>
      // The library leaves the text of an invalid grant to the log.
      const text = error === 'invalid_grant' ? found['error_detail'] : found['error_description']
      assert.deepEqual([found['error'], text], [error, description])
    }
  }
  const outage = gate('rate_limited', { param: 'context' })
  assert.equal(
    oauthError(outage, () => unavailable),
    unavailable,
  )
  // An error of the provider or of its configuration is none of the client.
  for (const other of [
    gate('invalid_request', { param: 'workflow' }),
    gate('invalid_request'),
    new NotStarted('It did not start.'),
    new TypeError('bug'),
  ])
    assert.equal(
      oauthError(other, () => unavailable),
      other,
    )
})

const ORIGIN = 'https://bonds.example'
const CREDENTIAL = 'sk_beta_1'

/** A client of a service that gives these answers, and what it was asked. */
function clientOf(
  t: TestContext,
  ...answers: readonly (readonly [status: number, body: unknown])[]
) {
  const left = [...answers]
  const asked: { url: string; init: RequestInit }[] = []
  const limits: number[] = []
  t.mock.method(AbortSignal, 'timeout', (ms: number) => {
    limits.push(ms)
    return new AbortController().signal
  })
  t.mock.method(globalThis, 'fetch', async (url: string, init: RequestInit) => {
    asked.push({ url, init })
    const [status, body] = left.shift() ?? [500, {}]
    return Response.json(body, { status })
  })
  return { client: new ServiceClient(ORIGIN, new Secret(CREDENTIAL)), asked, limits, left }
}

test('the receipt of a session is read with the credential, and no redirect is followed', async (t) => {
  const { client, asked } = clientOf(t, [200, { receipt: 'a.b.c', proof: null }])
  assert.equal(await client.receipt('sess_1'), 'a.b.c')
  const [{ url, init } = { url: '', init: {} }] = asked
  assert.equal(url, `${ORIGIN}/api/v1/sessions/sess_1/receipt`)
  assert.equal(init.redirect, 'manual')
  const headers = new Headers(init.headers)
  assert.equal(headers.get('authorization'), `Bearer ${CREDENTIAL}`)
})

test('each answer without a receipt has its own error', async (t) => {
  for (const [status, body, code, message] of [
    [200, { proof: 'x' }, 'unexpected_answer', 'The service’s answer has no receipt.'],
    [404, {}, 'not_found', 'The service answered 404, without a reason.'],
    [
      409,
      { error: { reason: 'receipt_missing\n' } },
      'forbidden',
      'The service answered 409, receipt_missing\\u{a}.',
    ],
    [429, {}, 'service_unavailable', 'The service answered 429, without a reason.'],
    [503, {}, 'service_unavailable', 'The service answered 503, without a reason.'],
  ] as const) {
    const { client } = clientOf(t, [status, body])
    await assert.rejects(client.receipt('sess_1'), { code, message })
    t.mock.restoreAll()
  }
})

test('the wait for a user goes on while the user can answer, from what it has read', async (t) => {
  const states = ['pending', 'step_up_required', 'bonded'] as const
  const { client, asked, limits, left } = clientOf(
    t,
    ...states.map((state, index) => [200, { state, seq: 3 + 4 * index }] as const),
  )
  await client.untilAnswered('sess_1', new AbortController().signal)
  const address = `${ORIGIN}/api/v1/sessions/sess_1?wait_ms=25000&after=`
  assert.deepEqual(
    asked.map(({ url }) => url),
    [`${address}0`, `${address}3`, `${address}7`],
  )
  // The answer of the service takes 25 s, and has 5 s more.
  assert.deepEqual(new Set(limits.filter((ms) => ms !== 5_000)), new Set([30_000]))
  assert.equal(left.length, 0)
})

test('the wait for a user ends with the session, and an answer that is none fails it', async (t) => {
  const stop = new AbortController()
  for (const state of ['completed', 'killed', 'expired']) {
    const { client } = clientOf(t, [200, { state, seq: 1 }])
    await client.untilAnswered('sess_1', stop.signal)
    t.mock.restoreAll()
  }
  await clientOf(t, [404, {}]).client.untilAnswered('sess_1', stop.signal)
  t.mock.restoreAll()
  for (const [status, body, code] of [
    [200, { state: 'bonded' }, 'unexpected_answer'],
    [503, {}, 'service_unavailable'],
    [403, {}, 'forbidden'],
  ] as const) {
    const { client } = clientOf(t, [status, body])
    await assert.rejects(client.untilAnswered('sess_1', stop.signal), { code })
    t.mock.restoreAll()
  }
})

test('whether the service makes receipts is asked until it does', async (t) => {
  const { client, asked } = clientOf(t, [404, {}], [503, {}], [200, { keys: [] }])
  await assert.rejects(client.requireReceipts(), {
    code: 'forbidden',
    message: 'Set BONDED_RECEIPT_KEYS: the service makes no receipts.',
  })
  for (let calls = 0; calls < 3; calls++) await client.requireReceipts()
  assert.deepEqual(
    asked.map(({ url, init }) => [url, init.redirect]),
    Array.from({ length: 3 }, () => [`${ORIGIN}/.well-known/jwks.json`, 'manual']),
  )
})

test('the library sends notifications alone, and gets the status of each', async () => {
  const sent: object[] = []
  const results = [{ status: 204 }, { status: 503 }, { error: 'name_not_found' }]
  const send = async (request: object) => {
    sent.push(request)
    return results.shift()
  }
  const fetch = fetchBy(send as unknown as Parameters<typeof fetchBy>[0])
  const init = { method: 'POST', headers: { 'X-One': '1', Authorization: 'Bearer x' }, body: '{}' }
  for (const status of [204, 503])
    assert.equal((await fetch(new URL('https://app.example/ciba'), init as never)).status, status)
  await assert.rejects(fetch('https://app.example/ciba', init), {
    message: 'name_not_found',
  })
  const headers = { 'x-one': '1', authorization: 'Bearer x' }
  const request = { url: 'https://app.example/ciba', headers, body: '{}' }
  assert.deepEqual(sent, [request, request, request])
  for (const other of [{ ...init, method: 'GET' }, { ...init, body: undefined }, undefined])
    await assert.rejects(fetch('https://app.example/', other as never), /Only notifications/)
  assert.equal(sent.length, 3)
})

/** A notifier over one request of one client, and what it asked for. */
function notifier(given: {
  request?: object | undefined
  client?: object | undefined
  fails?: unknown
}) {
  const { log, lines } = logOf()
  const asked: unknown[] = []
  const request = 'request' in given ? given.request : { clientId: 'agent' }
  const provider = {
    BackchannelAuthenticationRequest: {
      find: async (...args: unknown[]) => (asked.push(args), request),
    },
    Client: {
      find: async (id: string) => {
        asked.push(id)
        const backchannelPing = async (of: unknown) => {
          asked.push(of)
          if (given.fails !== undefined) throw given.fails
        }
        const known = { clientId: id, backchannelTokenDeliveryMode: 'ping', backchannelPing }
        return 'client' in given ? given.client : known
      },
    },
  }
  const notify = notifierOf(provider as unknown as Provider, log)
  return { notify, lines, asked, request }
}

const NOTICE: Notice = { approval: 'sess_1', content: { auth_req_id: 'r1' }, pauseS: 10 }

test('a client in ping mode gets the notice of its request, also of one that has nearly expired', async () => {
  const { notify, lines, asked, request } = notifier({})
  assert.equal(await notify(NOTICE), true)
  assert.deepEqual(asked, [['r1', { ignoreExpiration: true }], 'agent', request])
  assert.deepEqual(lines, [
    { level: 30, client: 'agent', session: 'sess_1', msg: 'notified a client' },
  ])
})

test('a client that needs no notification gets none', async () => {
  for (const given of [
    { request: undefined },
    { request: { clientId: 'agent', consumed: 1 } },
    { request: { clientId: 'agent', isExpired: true } },
    { client: undefined },
    { client: { clientId: 'agent', backchannelTokenDeliveryMode: 'poll' } },
  ]) {
    const { notify, lines } = notifier(given)
    assert.deepEqual([await notify(NOTICE), lines], [true, []], JSON.stringify(given))
  }
})

test('a notification is repeated where that can help, and the log says whether', async () => {
  for (const [fails, repeated] of [
    [new Error('name_not_found'), true],
    [{ response: { status: 429 } }, true],
    [{ response: { status: 500 } }, true],
    [{ response: { status: 400 } }, false],
    [{ response: { status: 302 } }, false],
  ] as const) {
    const { notify, lines } = notifier({ fails })
    assert.equal(await notify(NOTICE), !repeated)
    const [{ msg, client, session, repeated: said } = {}] = lines
    assert.deepEqual(
      { msg, client, session, said },
      { msg: 'a client was not notified', client: 'agent', session: 'sess_1', said: repeated },
    )
  }
})

test('each notice is watched once, sent once its user has answered, and kept where that fails', async () => {
  const { log, lines } = logOf()
  const stop = new AbortController()
  const waiting = new Map<string, PromiseWithResolvers<void>>()
  const done: string[] = []
  const notices = ['sent', 'refused', 'broken'].map((approval) => ({ ...NOTICE, approval }))
  const watcher = new Notices({
    rows: {
      dueNotices: () => notices,
      removeNotice: (approval: string) => done.push(`removed ${approval}`),
      postponeNotice: ({ approval }: Notice) => done.push(`postponed ${approval}`),
    },
    service: {
      untilAnswered: (approval: string, signal: AbortSignal) => {
        assert.equal(signal, stop.signal)
        assert.equal(waiting.has(approval), false, `${approval} is watched twice`)
        const answered = Promise.withResolvers<void>()
        waiting.set(approval, answered)
        return answered.promise
      },
    },
    deliver: async ({ approval }: Notice) => {
      done.push(`delivered ${approval}`)
      if (approval === 'broken') throw new Error('disk full')
      return approval === 'sent'
    },
    log,
    stop: stop.signal,
  } as unknown as NoticesOptions)
  watcher.watch()
  watcher.watch()
  assert.deepEqual([[...waiting.keys()], done], [['sent', 'refused', 'broken'], []])
  for (const one of waiting.values()) one.resolve()
  await watcher[Symbol.asyncDispose]()
  assert.deepEqual(done.toSorted(), [
    'delivered broken',
    'delivered refused',
    'delivered sent',
    'postponed refused',
    'removed sent',
  ])
  const said = lines.map(({ msg, session, level }) => [level, session, msg])
  assert.deepEqual(said, [[40, 'broken', 'an answer is reported later']])
  // Watched again after its end, but not once the process stops.
  waiting.clear()
  watcher.watch()
  assert.equal(waiting.size, 3)
  stop.abort()
  for (const one of waiting.values()) one.reject(new Error('aborted'))
  await watcher[Symbol.asyncDispose]()
  waiting.clear()
  watcher.watch()
  assert.deepEqual([waiting.size, lines.length], [0, 1])
})

test('the command says what it does, and where its credential is', () => {
  const [serve] = cibaCommand().commands
  assert.ok(serve)
  let help = ''
  serve.configureOutput({ writeOut: (text) => void (help += text), getOutHelpWidth: () => 100 })
  serve.outputHelp()
  for (const text of [
    'Run an OpenID provider whose users approve on their phones',
    '--config <file>  Configuration (YAML)',
    'Print the ready message as JSON, and the log to stderr',
    'The server credential of the tenant is in BONDED_SERVER_CREDENTIAL.',
  ])
    assert.ok(help.includes(text), help)
  assert.deepEqual(
    serve.options.map(({ long, mandatory }) => [long, mandatory]),
    [
      ['--config', true],
      ['--json', false],
    ],
  )
})
