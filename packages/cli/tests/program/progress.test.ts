import assert from 'node:assert/strict'
import { test } from 'node:test'
import { showStep } from '../../src/program/output.ts'

test('long work says its step on a terminal only, and not beside JSON', (t) => {
  const { isTTY } = process.stderr
  const written: string[] = []
  t.mock.method(process.stderr, 'write', (text: string) => written.push(text))
  try {
    for (const [tty, json] of [
      [true, undefined],
      [true, true],
      [false, undefined],
    ] as const) {
      process.stderr.isTTY = tty
      showStep({ json }, `terminal ${tty}, JSON ${json}`)
    }
  } finally {
    process.stderr.isTTY = isTTY
  }
  assert.deepEqual(written, ['terminal true, JSON undefined …\n'])
})
