import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { ENDPOINTS, type Endpoint, type Reason, REASONS, type RequestId } from '@bonded/contract'
import { harness } from '../../../../../tests/harness/harness.ts'
import { document } from '../../../../../tests/harness/openapi-replies.ts'
import { reasonsOf } from '../../../src/http/openapi.ts'
import { rejectionToWire } from '../../../src/http/response/rejection-to-wire.ts'
import { PROMISED_HEADERS, PROMISED_REASONS, PROMISED_RETRIES } from './promised-reasons.ts'

const h = await harness()
after(() => h[Symbol.asyncDispose]())

test('an error response links a page of the service that describes its reason', async () => {
  const { body } = await h.call('GET', '/api/v1/sessions/sess_1')
  assert.equal(body.error.doc_url, `/reasons#${body.error.reason}`)
  const { status, headers, text } = await h.call('GET', body.error.doc_url.split('#', 1)[0])
  assert.equal(status, 200)
  assert.match(String(headers['content-type']), /^text\/html/)
  assert.match(
    String(headers['content-security-policy']),
    /^default-src 'none'; style-src 'sha256-/,
  )
  assert.ok(text.includes(`id="${body.error.reason}"`))
})

test('the page describes every reason in three parts, as text', async () => {
  const { text } = await h.call('GET', '/reasons')
  for (const reason of Object.keys(REASONS)) assert.ok(text.includes(`<h2 id="${reason}">`), reason)
  for (const part of ['What happened', 'Likely cause', 'What to do'])
    assert.equal(text.split(part).length - 1, Object.keys(REASONS).length, part)
  assert.match(text, /Authorization: Bearer &lt;credential>/)
  assert.doesNotMatch(text, /`|\]\(|<script|<a /)
})

const PROMISED = Object.entries(PROMISED_REASONS) as [Reason, (typeof PROMISED_REASONS)[Reason]][]

test('rejects for every reason with the promised status, code, and headers', () => {
  assert.deepEqual(Object.keys(PROMISED_REASONS).toSorted(), Object.keys(REASONS).toSorted())
  for (const [reason, [status, code]] of PROMISED) {
    const wire = rejectionToWire({ reason }, 'req_1' as RequestId)
    assert.deepEqual(
      [wire.status, wire.body.error.code, wire.body.error.reason, Object.keys(wire.headers)],
      [status, code, reason, PROMISED_HEADERS[status] ?? []],
      reason,
    )
  }
})

test('the page names the promised status, code, and retry advice of every reason', async () => {
  const { text } = await h.call('GET', '/reasons')
  for (const [reason, [status, code, retry]] of PROMISED) {
    const [, line = ''] = text.split(`<h2 id="${reason}">`)[1]?.split('\n') ?? []
    assert.equal(
      line,
      `<p class="muted">${status} <code>${code}</code>. Retryable: ${PROMISED_RETRIES[retry]}.</p>`,
      reason,
    )
  }
})

test('the OpenAPI document has every reason of an endpoint under its status', () => {
  for (const endpoint of Object.values<Endpoint>(ENDPOINTS)) {
    const { responses } = document.paths[endpoint.path]?.[endpoint.method.toLowerCase()] ?? {}
    for (const reason of reasonsOf(endpoint)) {
      const [status] = PROMISED_REASONS[reason]
      const { description = '', headers = {} } = responses?.[status] ?? {}
      const where = `${endpoint.method} ${endpoint.path} ${reason}`
      assert.ok(`\n${description}`.includes(`\n\`${reason}\`: `), where)
      const isPromised = PROMISED_HEADERS[status]?.includes('retry-after') === true
      assert.equal('Retry-After' in headers, isPromised, where)
    }
  }
})
