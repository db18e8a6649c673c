import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatLogLine } from '../src/terminal-log.ts'

const HEAD = { level: 'info', time: '2026-11-21T14:03:07.120Z' }

test('prints a request as one short line', () => {
  const line = JSON.stringify({
    ...HEAD,
    requestId: 'req_1',
    method: 'POST',
    route: '/api/v1/sessions',
    status: 401,
    ms: 3.4,
    reason: 'credential_invalid',
    msg: 'request',
  })
  assert.equal(
    formatLogLine(`${line}\n`),
    '14:03:07.120 info  POST /api/v1/sessions 401 3.4 ms credential_invalid requestId=req_1',
  )
})

test('prints the stack of an error on lines of its own', () => {
  const err = { type: 'Error', message: 'broken', stack: 'Error: broken\n    at file.ts:1' }
  const line = JSON.stringify({ ...HEAD, level: 'error', err, msg: 'request failed' })
  assert.equal(
    formatLogLine(line),
    '14:03:07.120 error request failed \nError: broken\n    at file.ts:1',
  )
})

test('escapes all control characters of a terminal', () => {
  const line = JSON.stringify({ ...HEAD, name: 'a\u001b[2Jb\u202ec\u200bd', msg: 'x\rerased' })
  const text = formatLogLine(line)
  for (const obeyed of ['\u001b', '\r', '\u202e', '\u200b']) assert.ok(!text.includes(obeyed))
  assert.match(text, /x\\u\{d\}erased name=a\\u\{1b\}\[2Jb\\u\{202e\}c\\u\{200b\}d/)
  assert.equal(formatLogLine('not JSON \u001b[31m'), 'not JSON \\u{1b}[31m')
})
