import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { loadPulseScript } from '@bonded/widget/script'
import { timeLeft } from '../src/countdown.ts'

/** The size of the script as the service sends it. */
const BUDGET_BYTES = 14_400
const MODULE_BUDGET_BYTES = 7_200
/** What a workflow that requires the browser adds: this, and the texts where not in English. */
const PROOF_BUDGET_BYTES = 4_000

test('bundles the same bytes from the same sources, with their hash', async () => {
  const [first, second] = [await loadPulseScript(), await loadPulseScript()]
  assert.deepEqual(first, second)
  assert.equal(
    first.integrity,
    `sha384-${createHash('sha384').update(first.source, 'utf8').digest('base64')}`,
  )
  assert.match(first.version, /^\d+\.\d+\.\d+/)
})

test('stays within 14.4 kB gzip', async (t) => {
  const { source } = await loadPulseScript()
  const bytes = gzipSync(source, { level: 9 }).length
  t.diagnostic(`pulse.js: ${source.length} B, ${bytes} B gzip`)
  assert.ok(bytes <= BUDGET_BYTES, `${bytes} B`)
})

test('loads layout, checks, rules of the watch and encoder of QR codes, within 7.2 kB gzip', async (t) => {
  const { files } = await loadPulseScript()
  const { path, source } = files.find((file) => file.path.endsWith('.js'))!
  const bytes = gzipSync(source, { level: 9 }).length
  t.diagnostic(`${path}: ${source.length} B, ${bytes} B gzip`)
  assert.ok(bytes <= MODULE_BUDGET_BYTES, `${bytes} B`)
})

test('loads the proof of the browser, within 4 kB gzip', async (t) => {
  const { files } = await loadPulseScript()
  const { path, source } = files.find((file) => file.path.startsWith('/v1/leg/'))!
  const bytes = gzipSync(source, { level: 9 }).length
  t.diagnostic(`${path}: ${source.length} B, ${bytes} B gzip`)
  assert.ok(bytes <= PROOF_BUDGET_BYTES, `${bytes} B`)
})

test('contains nothing that a strict Content Security Policy or Trusted Types would block', async () => {
  const { source, files } = await loadPulseScript()
  assert.doesNotMatch(
    source + files.map((file) => file.source).join(''),
    /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|\.cssText|@import|url\(/,
  )
})

test('shows 0:00 in the countdown only at its end', () => {
  assert.equal(timeLeft({ until: 300_000, now: 0 }), '5:00')
  assert.equal(timeLeft({ until: 61_500, now: 1_000 }), '1:01')
  assert.equal(timeLeft({ until: 1, now: 0 }), '0:01')
  assert.equal(timeLeft({ until: 0, now: 5 }), '0:00')
})

test('the script holds the routes of the contract and none of its schemas', async () => {
  const { source } = await loadPulseScript()
  assert.match(source, /\/api\/v1\/sessions\/\{session_id\}/)
  assert.doesNotMatch(source, /additionalProperties|typebox|\/attestations/)
})
