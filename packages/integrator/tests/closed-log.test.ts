import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { testSigner } from '../../../tests/harness/test-signer.ts'
import { checkpointText, closingText, noteSignature } from '../../core/src/domain/receipt-log.ts'
import { type ReceiptKeySet, verifyConsistency } from '../src/index.ts'
import { closedBetween } from '../src/receipt/closed-log.ts'

const signer = testSigner()
const jwks: ReceiptKeySet = { keys: [...signer.publicKeys] }
const CLOSED_AT = '2026-11-21T09:30:00.000Z'

function sha256(...parts: readonly Uint8Array[]): Uint8Array {
  const digest = createHash('sha256')
  for (const part of parts) digest.update(part)
  return digest.digest()
}

async function signed(text: string, origin: string): Promise<string> {
  const signature = await signer.sign(new TextEncoder().encode(text))
  return `${text}\n${noteSignature(sha256, { origin, key: signer.publicKeys[0], signature })}`
}

/** Four logs of a service, three of which were closed, oldest first. */
const LOGS = ['log/a', 'log/b', 'log/c', 'log/d'] as const
/** The entries of each that the next one has. */
const ENTRIES = [5, 8, 11] as const
const CLOSINGS = ENTRIES.map((entries, index) => ({
  origin: LOGS[index] ?? '',
  continuedBy: LOGS[index + 1] ?? '',
  entries,
  closedAt: CLOSED_AT,
  reason: 'restore',
}))

/** The response of `/receipts/log/closed` with statements in this order. */
async function published(closings: typeof CLOSINGS): Promise<string> {
  const statements = closings.map(({ origin, continuedBy, entries }) => {
    const root = Buffer.alloc(32).toString('base64')
    const facts = { closed: origin, size: entries, root, at: CLOSED_AT, reason: 'restore' } as const
    return signed(closingText({ origin: continuedBy, ...facts }), continuedBy)
  })
  const closed = (await Promise.all(statements)).map((statement) => ({ statement }))
  return JSON.stringify({ closed })
}

/** Every order of three values. */
function orders<T>([a, b, c]: readonly T[]): readonly (readonly T[])[] {
  const all = [
    [a, b, c],
    [a, c, b],
    [b, a, c],
    [b, c, a],
    [c, a, b],
    [c, b, a],
  ]
  return all.map((order) => order.flatMap((value) => (value === undefined ? [] : [value])))
}

test('orders the logs between two from the oldest to the newest, as they are published or not', async () => {
  for (const order of orders(CLOSINGS)) {
    const text = await published([...order])
    for (const [from, start] of LOGS.entries())
      for (const [to, end] of LOGS.entries())
        assert.deepEqual(
          await closedBetween([start, end], text, jwks),
          // No statement leads from a log to an older one.
          from > to ? undefined : CLOSINGS.slice(from, to),
          `${start} to ${end}`,
        )
  }
})

test('finds no way between logs whose statements lack one or go round', async () => {
  const [first, second, third] = CLOSINGS
  assert.ok(first && second && third)
  const without = await published([first, third])
  assert.equal(await closedBetween(['log/a', 'log/d'], without, jwks), undefined)
  const round = await published([first, { ...second, continuedBy: 'log/a' }, third])
  assert.equal(await closedBetween(['log/a', 'log/d'], round, jwks), undefined)
})

test('names the first closed log that lacks entries of the older checkpoint', async () => {
  const checkpoint = (origin: string, size: number) =>
    signed(checkpointText({ origin, size, root: new Uint8Array(32) }), origin)
  const newer = await checkpoint('log/d', 20)
  for (const order of orders(CLOSINGS)) {
    const closed = await published([...order])
    for (const [origin, size, expected] of [
      ['log/a', 6, 'log/a'],
      ['log/a', 12, 'log/a'],
      ['log/b', 8, undefined],
      ['log/b', 9, 'log/b'],
      ['log/b', 12, 'log/b'],
      ['log/c', 11, undefined],
      ['log/c', 12, 'log/c'],
    ] as const) {
      const older = await checkpoint(origin, size)
      const verdict = await verifyConsistency({ older, newer, proof: '', jwks, closed })
      assert.ok(verdict.decision === 'reject')
      assert.deepEqual(
        [verdict.reason, verdict.closed?.origin],
        // A log that has all of them is compared by the proof, which this one is not.
        [expected === undefined ? 'log_rewritten' : 'log_closed', expected],
        `${origin} ${size}`,
      )
    }
  }
})
