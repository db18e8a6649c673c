import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, test } from 'node:test'
import { BODY_LIMITS, ENDPOINTS, type Endpoint, type EndpointName } from '@bonded/contract'
import { harness, type Reply } from '../../../../tests/harness/harness.ts'
import { validRequests } from '../../../../tests/harness/valid-requests.ts'

const h = await harness()
after(() => h[Symbol.asyncDispose]())
const { session, bodies, pathOf, tokenFor, send } = await validRequests(h)

function assertRejected(reply: Reply, status: number, reason: string, what: string): void {
  assert.deepEqual(
    [reply.status, reply.body?.error?.code, reply.body?.error?.reason],
    [status, 'invalid_request', reason],
    `${what}: ${reply.text}`,
  )
  assert.doesNotMatch(reply.text, /at .*\.ts|node:|Error:/, 'a stack')
}

for (const [name, good] of Object.entries(bodies) as [EndpointName, object][]) {
  const endpoint: Endpoint = ENDPOINTS[name]
  const text = JSON.stringify(good)

  test(`${name} rejects every body outside its schema, and writes nothing`, async () => {
    const before = (await h.get(session)).body
    const [first = '', value] = Object.entries(good)[0] ?? []
    const cases: [string, string | Buffer, string][] = [
      ['malformed JSON', '{"a":', 'malformed_json'],
      ['a trailing comma', `${text.slice(0, -1)},}`, 'malformed_json'],
      [
        'a duplicate member',
        `{${JSON.stringify(first)}:${JSON.stringify(value)},${text.slice(1)}`,
        'duplicate_member',
      ],
      ['an unknown member', JSON.stringify({ ...good, surprise: 1 }), 'unknown_member'],
      ['a wrong type', JSON.stringify({ ...good, [first]: 7 }), 'invalid_member'],
      // The members of create are optional, and null counts as omitted.
      ...(name === 'createSession'
        ? []
        : [
            ['null for a member', JSON.stringify({ ...good, [first]: null }), 'invalid_member'] as [
              string,
              string,
              string,
            ],
          ]),
      ['an array', '[]', 'invalid_member'],
      ['a string', '"x"', 'invalid_member'],
      ['deep nesting', `{"a":${'['.repeat(16)}${']'.repeat(16)}}`, 'nesting_too_deep'],
      ['a lone surrogate', `{${JSON.stringify(first)}:"\\ud800"}`, 'lone_surrogate'],
      [
        'invalid UTF-8',
        Buffer.concat([Buffer.from('{"a":"'), Buffer.of(0xff, 0xfe), Buffer.from('"}')]),
        'invalid_utf8',
      ],
      [
        'an overlong encoding',
        Buffer.concat([Buffer.from('{"a":"'), Buffer.of(0xc0, 0xaf), Buffer.from('"}')]),
        'invalid_utf8',
      ],
      [
        'a byte order mark',
        Buffer.concat([Buffer.of(0xef, 0xbb, 0xbf), Buffer.from(text)]),
        'malformed_json',
      ],
    ]
    for (const [what, raw, reason] of cases)
      assertRejected(await send(name, { raw }), 400, reason, what)
    if (endpoint.body?.optional !== true) {
      assertRejected(await send(name), 400, 'missing_body', 'no body')
      assertRejected(await send(name, { raw: '' }), 400, 'missing_body', 'an empty body')
      for (const member of Object.keys(good)) {
        // Optional members.
        if (member === 'shows' || (name === 'fetchEvidence' && member === 'app_attest')) continue
        const { [member]: _omitted, ...others } = good as Record<string, unknown>
        const reply = await send(name, { raw: JSON.stringify(others) })
        assertRejected(reply, 400, 'missing_member', `without ${member}`)
        assert.equal(reply.body.error.param, member)
      }
    }
    assert.deepEqual(
      [(await h.get(session)).body.state, (await h.get(session)).body.seq],
      [before.state, before.seq],
    )
  })

  test(`${name} accepts application/json in UTF-8 and no other content type`, async () => {
    for (const type of [
      'text/plain',
      'application/json; charset=latin1',
      'application/json;charset=utf-16',
      'application/x-www-form-urlencoded',
      'application/jsonx',
      'application/json\t; x=y',
      'multipart/form-data; boundary=x',
    ]) {
      assertRejected(
        await send(name, { raw: text, headers: { 'content-type': type } }),
        415,
        'unsupported_media_type',
        type,
      )
    }
    const extended = JSON.stringify({ ...good, surprise: 1 })
    for (const type of [
      'application/json; charset=utf-8',
      'application/json;charset="UTF-8"',
      'Application/JSON',
    ]) {
      assert.notEqual(
        (await send(name, { raw: extended, headers: { 'content-type': type } })).status,
        415,
        type,
      )
    }
  })

  test(`${name} rejects a body over ${endpoint.body?.limitBytes} bytes`, async () => {
    const limit = endpoint.body?.limitBytes ?? 0
    const padded = (length: number) => `${text}${' '.repeat(length - Buffer.byteLength(text))}`
    assertRejected(
      await send(name, { raw: padded(limit + 1) }),
      413,
      'body_too_large',
      'one byte too many',
    )
    assert.notEqual((await send(name, { raw: padded(limit) })).status, 413)
  })
}

test('rejects non-canonical base64url and ids of another form', async () => {
  const good = bodies.attest as { app_attest: object }
  const cases: [string, object][] = [
    ['padding', { ...good, nonce: `${session.nonce.slice(0, -1)}=` }],
    ['the other alphabet', { ...good, nonce: `+${session.nonce.slice(1)}` }],
    ['white space', { ...good, nonce: `${session.nonce} ` }],
    ['another prefix', { ...good, session_id: `dev_${'0'.repeat(22)}` }],
    ['a longer id', { ...good, session_id: `${session.id}0` }],
    ['a time without an offset', { ...good, issued_at: '2026-11-21T09:30:00.000' }],
    ['a time with another offset', { ...good, issued_at: '2026-11-21T09:30:00.000+01:00' }],
    ['an unknown offset', { ...good, issued_at: '2026-11-21T09:30:00.000-00:00' }],
    ['ten decimals', { ...good, issued_at: '2026-11-21T09:30:00.0000000000Z' }],
    ['a comma', { ...good, issued_at: '2026-11-21T09:30:00,000Z' }],
    ['a space', { ...good, issued_at: '2026-11-21 09:30:00.000Z' }],
    ['an invalid month', { ...good, issued_at: '2026-13-21T09:30:00.000Z' }],
    ['an invalid day', { ...good, issued_at: '2026-02-30T09:30:00Z' }],
    ['a leap second', { ...good, issued_at: '2026-11-21T23:59:60Z' }],
    [
      'junk in the signature',
      { ...good, app_attest: { ...good.app_attest, signature: 'a b+/=' + 'a'.repeat(60) } },
    ],
  ]
  for (const [what, body] of cases)
    assertRejected(await send('attest', { raw: JSON.stringify(body) }), 400, 'invalid_member', what)
})

test('accepts no body or an empty object at every endpoint without a body, and rejects any other', async () => {
  for (const [name, endpoint] of Object.entries(ENDPOINTS) as [EndpointName, Endpoint][]) {
    if (endpoint.body !== undefined || endpoint.method === 'GET' || name === 'deleteSession')
      continue
    assertRejected(await send(name, { raw: '{"a":1}' }), 400, 'unexpected_body', name)
    assertRejected(await send(name, { raw: '[1]' }), 400, 'unexpected_body', name)
    assert.notEqual((await send(name, { raw: '{}' })).body?.error?.reason, 'unexpected_body')
    assertRejected(
      await send(name, { raw: `{${' '.repeat(BODY_LIMITS.none)}}` }),
      413,
      'body_too_large',
      name,
    )
  }
  const doomed = await h.create()
  assert.equal(
    (await h.api('DELETE', `/sessions/${doomed.id}`, { token: h.shop.server, body: { a: 1 } })).body
      .error.reason,
    'unexpected_body',
  )
  assert.equal(
    (await h.api('DELETE', `/sessions/${doomed.id}`, { token: h.shop.server, body: {} })).status,
    204,
  )
})

test('responds with 404 to an unknown path, and 405 with Allow to a wrong method at every path of the table', async () => {
  for (const path of [
    '/api',
    '/api/v1',
    '/api/v1/session',
    '/api/v1/sessions/a/b/c',
    '/api/v2/sessions',
    '/API/V1/sessions',
    '/sessions/x',
    '/../etc/passwd',
    '/api/v1/sessions%2f',
  ]) {
    assertRejected(await h.call('GET', path), 404, 'unknown_endpoint', path)
  }
  for (const endpoint of Object.values(ENDPOINTS) as Endpoint[]) {
    const taken = (Object.values(ENDPOINTS) as Endpoint[])
      .filter(({ path }) => path === endpoint.path)
      .map(({ method }) => method as string)
    const answersHead = taken.includes('GET') && !endpoint.path.startsWith('/api/')
    for (const method of [
      'GET',
      'POST',
      'PUT',
      'PATCH',
      'DELETE',
      'PROPFIND',
      'TRACE',
      'OPTIONS',
    ].filter((candidate) => !taken.includes(candidate))) {
      const reply = await h.call(method, pathOf(endpoint), { token: tokenFor(endpoint) })
      assertRejected(reply, 405, 'method_not_allowed', `${method} ${endpoint.path}`)
      assert.deepEqual(
        String(reply.headers.allow).split(', '),
        [...taken, ...(answersHead ? ['HEAD'] : [])].toSorted(),
      )
    }
    assert.equal((await h.call('HEAD', pathOf(endpoint))).status, answersHead ? 200 : 405)
  }
})

test('rejects a repeated known query parameter, and ignores an unknown one', async () => {
  const read = (query: string) =>
    h.api('GET', `/sessions/${session.id}?${query}`, { token: h.shop.server })
  for (const query of ['nonce=a&nonce=b', 'after=1&after=2'])
    assertRejected(await read(query), 400, 'duplicate_parameter', query)
  for (const query of ['wait_ms=soon', 'wait_ms=-1', 'after=1.5'])
    assertRejected(await read(query), 400, 'invalid_parameter', query)
  assert.equal((await read('colour=red&colour=blue')).status, 200)
})

/** Sends bytes on a raw socket, and returns everything received before it closes. */
function raw(bytes: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const socket = connect(h.running.port, '127.0.0.1')
  let response = ''
  socket.on('data', (chunk) => {
    response += String(chunk)
  })
  socket.on('error', reject)
  socket.on('close', () => resolve(response))
  socket.end(bytes)
  return promise
}

test('responds to unreadable HTTP in the error shape and closes the socket', async () => {
  const cases: [string, string][] = [
    ['GARBAGE\r\n\r\n', 'malformed_request'],
    ['GET /version HTTP/1.1\r\n\r\n', 'malformed_request'],
    [
      `GET /version HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`,
      'headers_too_large',
    ],
    [
      'POST /api/v1/sessions HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      'malformed_request',
    ],
    [
      'POST /api/v1/sessions HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: x\r\n\r\n',
      'malformed_request',
    ],
    [
      'POST /api/v1/sessions HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
      'malformed_request',
    ],
    [
      'POST /api/v1/sessions HTTP/1.1\r\nHost: a\r\nConnection: close\r\nExpect: coffee\r\nContent-Length: 2\r\n\r\n{}',
      'expectation_unsupported',
    ],
    [
      'GET /api/v1/sessions/%zz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
      'malformed_request',
    ],
    ['CONNECT a:443 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n', 'malformed_request'],
    [
      'GET /version HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
      '"version"',
    ],
  ]
  for (const [bytes, reason] of cases) {
    const response = await raw(bytes)
    assert.match(
      response,
      new RegExp(reason),
      `${JSON.stringify(bytes.slice(0, 60))} → ${response}`,
    )
    if (!reason.startsWith('"')) assert.match(response, /^HTTP\/1\.1 400 .*"requestId":"req_/s)
    assert.equal(response.split('HTTP/1.1 ').length, 2, `one request, one response: ${response}`)
  }
})

test('sends no second response when the body of a rejected request breaks', async () => {
  const response = await raw(
    'POST /api/v1/sessions HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
  )
  assert.match(response, /^HTTP\/1\.1 4(00|15) /)
  assert.equal(response.split('HTTP/1.1 ').length, 2, response)
})
