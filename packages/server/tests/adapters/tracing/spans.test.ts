import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import type { TracedRequest } from '@bonded/core/ports/tracer'
import { OtlpExporter, type OtlpSpan } from '../../../src/adapters/tracing/otlp-exporter.ts'
import { otlpTracer } from '../../../src/adapters/tracing/otlp-tracer.ts'
import { timedParts } from '../../../src/adapters/tracing/timed-parts.ts'

const SESSION = 'sess_1' as never
const DIGEST = createHash('sha256').update('bonded-trace/sess_1').digest('hex')
const OF_SESSION = { traceId: DIGEST.slice(0, 32), spanId: DIGEST.slice(32, 48) }
const REQUEST = {
  requestId: 'req_1',
  name: 'claimSession',
  method: 'POST',
  route: '/route',
  status: 200,
  ms: 40,
  caller: 'phone',
  tenantId: 'ten_1',
  sessionId: SESSION,
  reason: undefined,
  parent: undefined,
} as unknown as TracedRequest

function spansOf(more: Partial<Record<keyof TracedRequest, unknown>> = {}, ratio = 1): OtlpSpan[] {
  const spans: OtlpSpan[] = []
  otlpTracer({ add: (span) => spans.push(span), ratio }).responded({ ...REQUEST, ...more } as never)
  return spans
}
const attributesOf = ({ attributes }: OtlpSpan) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))

test('the span of a request is below the session, with its time and every attribute', () => {
  const [span = assert.fail(), ...others] = spansOf({ reason: 'session_claimed', status: 409 })
  assert.deepEqual(others, [])
  const { spanId, startTimeUnixNano, endTimeUnixNano, attributes: _attributes, ...rest } = span
  assert.deepEqual(rest, {
    traceId: OF_SESSION.traceId,
    parentSpanId: OF_SESSION.spanId,
    name: 'claimSession',
    kind: 2,
    links: [],
    status: { code: 0 },
  })
  assert.match(spanId, /^[0-9a-f]{16}$/)
  assert.equal(BigInt(endTimeUnixNano) - BigInt(startTimeUnixNano), 40_000_000n)
  // Nanoseconds since the epoch, and not those of the process.
  assert.ok(Math.abs(Number(BigInt(endTimeUnixNano) / 1_000_000n) - Date.now()) < 60_000)
  assert.deepEqual(attributesOf(span), {
    'http.response.status_code': '409',
    'http.request.method': 'POST',
    'http.route': '/route',
    'bonded.request_id': 'req_1',
    'bonded.caller': 'phone',
    'bonded.tenant_id': 'ten_1',
    'bonded.reason': 'session_claimed',
  })
})

test('a failure of the service is an error of its span, and a rejection is none', () => {
  const codeOf = (status: number) => spansOf({ status })[0]?.status.code
  assert.deepEqual([200, 404, 499, 500, 503].map(codeOf), [0, 0, 0, 2, 2])
})

test('the session has a span of its own once it is created, and from no rejected create', () => {
  const [request, session] = spansOf({ name: 'createSession', status: 201 })
  assert.deepEqual(
    [
      session?.name,
      session?.traceId,
      session?.spanId,
      session?.kind,
      session?.status,
      session?.links,
    ],
    ['session', OF_SESSION.traceId, OF_SESSION.spanId, 1, { code: 0 }, []],
  )
  assert.equal(session?.startTimeUnixNano, request?.startTimeUnixNano)
  assert.equal(session?.endTimeUnixNano, request?.endTimeUnixNano)
  assert.equal(session?.parentSpanId, undefined)
  assert.equal(spansOf({ name: 'createSession', status: 200 }).length, 1)
  assert.equal(spansOf({ name: 'createQuorum', status: 201 }).length, 1)
})

test('only a sampled trace of a backend is joined', () => {
  const parent = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), sampled: true }
  const traceOf = (more: Parameters<typeof spansOf>[0]) => {
    const [span] = spansOf(more)
    return [span?.traceId, span?.parentSpanId, span?.links]
  }
  assert.deepEqual(traceOf({ parent, caller: 'backend' }), [
    parent.traceId,
    parent.spanId,
    [OF_SESSION],
  ])
  for (const more of [
    { parent, caller: 'browser' },
    { parent: { ...parent, sampled: false }, caller: 'backend' },
  ])
    assert.deepEqual(traceOf(more), [OF_SESSION.traceId, OF_SESSION.spanId, []])
  const [alone] = spansOf({ sessionId: undefined })
  assert.match(String(alone?.traceId), /^[0-9a-f]{32}$/)
  assert.deepEqual([alone?.parentSpanId, alone?.links], [undefined, []])
})

test('pages that anyone can load have no span, and what a user or a tenant does has one', () => {
  for (const name of ['unmatched', 'broken', 'script', 'logo', 'home', 'app_links', 'receipt_log'])
    assert.deepEqual(spansOf({ name }), [], name)
  for (const name of ['channel', 'pollSession', 'qr', 'handoff', 'frame', 'portal'])
    assert.equal(spansOf({ name }).length, 1, name)
})

test('the share of the traces is exact: a trace is recorded below its part of all ids', () => {
  const part = Number.parseInt(DIGEST.slice(0, 8), 16) / 2 ** 32
  assert.equal(spansOf({}, part).length, 0)
  assert.equal(spansOf({}, part + 2 ** -32).length, 1)
  assert.equal(spansOf({}, 0).length, 0)
})

test('the parts of a request are below it, once, as successes and failures', async () => {
  const spans: OtlpSpan[] = []
  const tracer = otlpTracer({ add: (span) => spans.push(span), ratio: 1 })
  const calls: unknown[] = []
  const note =
    (name: string, result: unknown = name) =>
    (...given: unknown[]) => {
      calls.push([name, ...given])
      return result
    }
  const failing = () => {
    throw new Error('down')
  }
  const parts = {
    store: {
      write: note('write', Promise.resolve('written')),
      read: note('read'),
      newSessionId: note('newSessionId'),
      during: note('during'),
      health: note('health'),
      hasClock: true,
      externalChanges: note('externalChanges'),
      [Symbol.asyncDispose]: note('store end'),
    },
    assertionVerifiers: { software: { verify: note('assertion') } },
    attestationVerifiers: { webauthn: { verify: failing } },
    carrier: { check: note('check', Promise.reject(new Error('down'))) },
    passports: { verify: note('passport'), [Symbol.asyncDispose]: note('passports end') },
  }
  const timed = tracer.timed('req_1' as never, parts as never) as unknown as typeof parts
  await timed.store.write('unit')
  assert.equal(timed.assertionVerifiers.software.verify('given'), 'assertion')
  assert.throws(() => timed.attestationVerifiers.webauthn.verify(), /down/)
  await assert.rejects(timed.carrier.check('query') as Promise<unknown>, /down/)
  timed.passports.verify('signal')
  timed.store.read('unit')
  timed.store.newSessionId('at', 'random')
  timed.store.during('cause')
  timed.store.health()
  timed.store.externalChanges()
  timed.store[Symbol.asyncDispose]()
  timed.passports[Symbol.asyncDispose]()
  assert.equal(timed.store.hasClock, true)
  await new Promise(setImmediate)
  assert.deepEqual(calls, [
    ['write', 'unit'],
    ['assertion', 'given'],
    ['check', 'query'],
    ['passport', 'signal'],
    ['read', 'unit'],
    ['newSessionId', 'at', 'random'],
    ['during', 'cause'],
    ['health'],
    ['externalChanges'],
    ['store end'],
    ['passports end'],
  ])
  tracer.responded(REQUEST)
  tracer.responded(REQUEST)
  const [request, ...found] = spans
  assert.deepEqual(
    found
      .slice(0, -1)
      .toSorted((a, b) => a.name.localeCompare(b.name))
      .map(({ name, kind, status, parentSpanId, links, attributes }) => [
        name,
        kind,
        status.code,
        parentSpanId === request?.spanId,
        links,
        attributes,
      ]),
    [
      ['assertion.verify', 1, 0, true, [], []],
      ['attestation.verify', 1, 2, true, [], []],
      ['carrier.check', 3, 2, true, [], []],
      ['passport.verify', 1, 0, true, [], []],
      ['store.write', 1, 0, true, [], []],
    ],
  )
  assert.equal(found.at(-1)?.name, 'claimSession')
})

test('a call of a part ends once, with its result', () => {
  const ends: unknown[] = []
  const begin = (name: string) => (failed: boolean) => void ends.push([name, failed])
  const carrier = { check: () => 'result' }
  const passports = { verify: () => 'verdict', [Symbol.asyncDispose]: () => undefined }
  const given = { store: {}, assertionVerifiers: {}, attestationVerifiers: {}, carrier, passports }
  const timed = timedParts(given as never, begin)
  assert.equal(timed.carrier.check({} as never), 'result')
  assert.deepEqual(ends, [['carrier.check', false]])
})

test('a batch is one request with the resource, the version, and the headers of the operator', async () => {
  const received: unknown[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (text: string) => (body += text))
    request.on('end', () => {
      const { method, url, headers } = request
      const { authorization, 'content-type': type } = headers
      received.push([method, url, authorization, type, JSON.parse(body)])
      response.end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const resource = [{ key: 'service.name', value: { stringValue: 'bonded' } }]
  const exporter = new OtlpExporter({
    endpoint: `http://127.0.0.1:${port}/v1/traces`,
    headers: { authorization: 'Bearer c', 'content-type': 'text/plain' },
    resource,
    version: '9.8.7',
    onFailure: (failure) => assert.fail(String(failure)),
  })
  const [span = assert.fail()] = spansOf()
  // The number that begins a batch by itself, and one more, which waits for the next.
  for (let count = 0; count < 513; count++) exporter.add(span)
  await exporter[Symbol.asyncDispose]()
  const batch = (spans: readonly OtlpSpan[]) => [
    'POST',
    '/v1/traces',
    'Bearer c',
    'application/json',
    {
      resourceSpans: [
        {
          resource: { attributes: resource },
          scopeSpans: [{ scope: { name: 'bonded', version: '9.8.7' }, spans }],
        },
      ],
    },
  ]
  assert.deepEqual(received, [batch(Array<OtlpSpan>(512).fill(span)), batch([span])])
  server.closeAllConnections()
  await new Promise((resolve) => void server.close(resolve))
})
