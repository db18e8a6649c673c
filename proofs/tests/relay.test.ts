import assert from 'node:assert/strict'
import { test } from 'node:test'
import { browserMissing } from '../../tests/browser.ts'
import { machine } from '../../tests/harness/process.ts'
import { programOf } from './program-of.ts'

interface Row {
  readonly number: number
  readonly without: { readonly attempts: number; readonly passed: number } | null
  readonly with: { readonly attempts: number; readonly passed: number }
}

/** The attacks that the design marks as possible without the proof of the browser. */
const TODAY = [1, 2, 4, 9, 10, 12, 13, 14, 17]

test('prove:relay stops every attack with the requirement, and those of today pass without it', {
  skip: browserMissing,
  timeout: 300_000,
}, async () => {
  // It must not read the settings of this machine's service.
  using m = machine({ program: programOf('relay'), env: { BONDED_ENVIRONMENT: 'production' } })
  const { ok, rounds, scenarios } = await m.jsonMeanwhile()
  assert.deepEqual([ok, rounds], [true, 1])
  const [honest, ...attacks] = scenarios as readonly Row[]
  assert.ok(honest !== undefined && honest.with.attempts > 0)
  assert.deepEqual(
    [honest.without?.passed, honest.with.passed],
    [honest.without?.attempts, honest.with.attempts],
  )
  assert.deepEqual(
    attacks.map(({ number }) => number),
    Array.from({ length: 20 }, (_, index) => index + 1),
  )
  for (const { number, with: stopped } of attacks)
    assert.deepEqual([stopped.passed, stopped.attempts > 0], [0, true], `attack ${number}`)
  const today = attacks.filter(({ without }) => without !== null)
  assert.deepEqual(
    today.map(({ number }) => number),
    TODAY,
  )
  for (const { number, without } of today)
    assert.equal(without?.passed, without?.attempts, `attack ${number}`)
})

test('prove:relay says what is missing, and rejects what it does not know', () => {
  using m = machine({ program: programOf('relay'), env: { CHROMIUM_PATH: '/nowhere/chromium' } })
  for (const [flags, code, message] of [
    [['--only', '1'], 1, /There is no Chromium\. Install it/],
    [['--only', '21'], 2, /There is no attack 21/],
    [['--rounds', '0'], 2, /whole number from 1 to 1000/],
  ] as const) {
    const { status, stderr } = m.run(...flags)
    assert.deepEqual([status, message.test(stderr)], [code, true], stderr)
  }
})
