import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { SessionId } from '@bonded/contract'
import { OtlpExporter, type OtlpSpan } from '../../../src/adapters/tracing/otlp-exporter.ts'
import { otlpTracer, sessionTrace } from '../../../src/adapters/tracing/otlp-tracer.ts'
import { harness } from '../../../../../tests/harness/harness.ts'
import { collector } from './collector.ts'

const target = await collector()
const failures: unknown[] = []
const exporter = new OtlpExporter({
  endpoint: target.endpoint,
  headers: { authorization: 'Bearer collector' },
  version: '9.8.7',
  resource: [{ key: 'service.name', value: { stringValue: 'bonded' } }],
  onFailure: (failure) => failures.push(failure),
})
const h = await harness({ tracer: otlpTracer({ add: (span) => exporter.add(span), ratio: 1 }) })
after(async () => {
  await h[Symbol.asyncDispose]()
  await exporter[Symbol.asyncDispose]()
  await target[Symbol.asyncDispose]()
})

/** Sends what is queued and returns all spans so far. */
async function exported(): Promise<readonly OtlpSpan[]> {
  // The line of a request is written just after its response.
  await new Promise((resolve) => setImmediate(resolve))
  await exporter.flush()
  return target.spans()
}

const traceOf = (id: string) => sessionTrace(id as SessionId)

const attributesOf = ({ attributes }: OtlpSpan) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))

test('one trace follows a session from create to completion, with the parts of each request', async () => {
  const session = await h.create()
  const phone = await h.register()
  const { body } = await h.claim(phone, session)
  assert.equal((await h.attest(phone, body)).body.state, 'bonded')
  assert.equal((await h.complete(session)).status, 200)

  const { traceId, spanId: rootId } = traceOf(session.id)
  const trace = (await exported()).filter((span) => span.traceId === traceId)
  const [root] = trace.filter((span) => span.parentSpanId === undefined)
  assert.deepEqual([root?.name, root?.spanId], ['session', rootId])
  const requests = trace.filter((span) => span.parentSpanId === rootId)
  assert.deepEqual(
    requests.map(({ name }) => name),
    ['createSession', 'claimSession', 'fetchEvidence', 'attest', 'completeSession'],
  )
  const partsOf = (name: string) => {
    const id = requests.find((span) => span.name === name)?.spanId
    return trace.filter((span) => span.parentSpanId === id).map((span) => span.name)
  }
  assert.ok(partsOf('createSession').includes('store.write'))
  assert.ok(partsOf('completeSession').includes('store.write'))
  assert.deepEqual([...new Set(partsOf('attest'))].toSorted(), ['assertion.verify', 'store.write'])
  for (const { startTimeUnixNano, endTimeUnixNano, traceId: id, spanId } of trace) {
    assert.ok(BigInt(startTimeUnixNano) <= BigInt(endTimeUnixNano))
    assert.match(id, /^[0-9a-f]{32}$/)
    assert.match(spanId, /^[0-9a-f]{16}$/)
  }
  assert.equal(target.received[0]?.authorization, 'Bearer collector')
})

test('a span names route, status and caller, and no secret, session id, device or path', async () => {
  const session = await h.create()
  const phone = await h.register()
  await h.claim(phone, session)
  await h.get(session)
  const { traceId } = traceOf(session.id)
  const claim = (await exported()).find(
    (span) => span.name === 'claimSession' && span.traceId === traceId,
  )
  assert.ok(claim !== undefined)
  const { 'bonded.request_id': requestId, ...attributes } = attributesOf(claim)
  assert.match(String(requestId), /^req_/)
  assert.deepEqual(attributes, {
    'http.response.status_code': '200',
    'http.request.method': 'POST',
    'http.route': '/api/v1/sessions/:session_id/claim',
    'bonded.caller': 'phone',
    'bonded.tenant_id': h.shop.tenant.id,
  })
  const text = target.received.map(({ body }) => body).join('\n')
  for (const secret of [
    session.id,
    session.nonce,
    session.watch_token,
    session.completion_secret,
    h.shop.server,
    h.shop.publishable,
    phone.device_id,
    phone.device_token,
    phone.subject_id,
  ])
    assert.ok(secret !== null && !text.includes(secret))
})

const TRACE = 'a'.repeat(32)
const SPAN = 'b'.repeat(16)

test('a request of a backend joins its sampled trace, and links to the session', async () => {
  const session = await h.create()
  const call = (token: string | undefined, flags: string) =>
    h.api('GET', `/sessions/${session.id}`, {
      ...(token === undefined ? {} : { token }),
      headers: { traceparent: `00-${TRACE}-${SPAN}-${flags}` },
    })
  assert.equal((await call(h.shop.server, '01')).status, 200)
  const joined = (await exported()).filter((span) => span.traceId === TRACE)
  const root = traceOf(session.id)
  assert.deepEqual(
    joined.map(({ name, parentSpanId, links }) => ({ name, parentSpanId, links })),
    [{ name: 'getSession', parentSpanId: SPAN, links: [root] }],
  )
  await call(h.shop.server, '00')
  await call(undefined, '01')
  await call('sk_beta_wrong', '01')
  assert.equal((await exported()).filter((span) => span.traceId === TRACE).length, 1)
})

test('a create inside a trace of the backend still begins the trace of the session', async () => {
  const trace = 'c'.repeat(32)
  const created = await h.api('POST', '/sessions', {
    token: h.shop.server,
    headers: { traceparent: `00-${trace}-${SPAN}-01` },
    body: { workflow: 'credit_application', action: 'submit_application' },
  })
  assert.equal(created.status, 201)
  const root = traceOf(created.body.id)
  const spans = await exported()
  const request = spans.find((span) => span.traceId === trace && span.name === 'createSession')
  const begun = spans.find((span) => span.spanId === root.spanId)
  assert.deepEqual(request?.links, [root])
  assert.deepEqual(begun?.links, [{ traceId: trace, spanId: request?.spanId }])
})

test('a request to an unknown path leaves no span', async () => {
  const before = (await exported()).length
  await h.call('GET', '/nothing/here')
  assert.equal((await exported()).length, before)
})

test('a share of the sessions is traced whole or not at all', async () => {
  const spans: OtlpSpan[] = []
  await using half = await harness({
    tracer: otlpTracer({ add: (span) => spans.push(span), ratio: 0.5 }),
  })
  const sessions = await Promise.all(Array.from({ length: 64 }, () => half.create()))
  for (const session of sessions) await half.get(session)
  const namesOf = (id: string) =>
    spans.filter((span) => span.traceId === traceOf(id).traceId).map(({ name }) => name)
  const traced = sessions.filter(({ id }) => namesOf(id).length > 0)
  // A fair coin leaves these bounds once in 10^8 runs.
  assert.ok(traced.length > 8 && traced.length < 56, `${traced.length} of 64`)
  for (const { id } of traced)
    for (const name of ['session', 'createSession']) assert.ok(namesOf(id).includes(name))
})

test('a collector that fails costs spans and one report, never a request', async () => {
  target.response = 503
  const before = (await exported()).length
  for (let number = 0; number < 3; number++) {
    assert.equal((await h.get(await h.create())).status, 200)
    await exporter.flush()
  }
  assert.deepEqual([failures.length, target.spans().length], [1, before])
  target.response = 200
  await h.create()
  assert.ok((await exported()).length > before, 'it accepts spans again')
  target.response = 503
  await h.create()
  await exporter.flush()
  assert.equal(failures.length, 2, 'a later failure is reported, too')
  target.response = 200
})

test('the end of the exporter begins no batch after 5 s, however slowly the collector accepts them', async (t) => {
  await using slow = await collector()
  await h.create()
  const [span] = await exported()
  assert.ok(span)
  let nowMs = 0
  t.mock.method(performance, 'now', () => nowMs)
  slow.beforeResponse = () => void (nowMs += 4_500)
  const ending = new OtlpExporter({
    endpoint: slow.endpoint,
    headers: {},
    version: '1',
    resource: [],
    onFailure: () => undefined,
  })
  for (let count = 0; count < 4_096; count++) ending.add(span)
  await ending[Symbol.asyncDispose]()
  assert.equal(nowMs, 2 * 4_500)
})

test('reports spans that find the queue full, and those of a batch that the collector rejects', async () => {
  await h.create()
  const [span] = await exported()
  assert.ok(span)
  let dropped = 0
  await using lossy = new OtlpExporter({
    endpoint: 'http://127.0.0.1:9/v1/traces',
    headers: {},
    version: '1',
    resource: [],
    onFailure: () => undefined,
    onDrop: (count) => void (dropped += count),
  })
  for (let count = 0; count < 4_096 + 512 + 3; count++) lossy.add(span)
  // The first batch is being sent, 4,096 spans wait, and three found no place.
  assert.equal(dropped, 3)
  await lossy.flush()
  assert.equal(dropped, 3 + 512)
})
