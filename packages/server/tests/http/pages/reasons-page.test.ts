import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { REASONS } from '@bonded/contract'
import { harness } from '../../../../../tests/harness/harness.ts'

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
