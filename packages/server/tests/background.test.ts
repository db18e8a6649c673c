import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { test } from 'node:test'
import type { Logger } from 'pino'
import type { Service } from '../../core/src/operations/service.ts'
import { CheckpointError, LogRefused } from '../../core/src/ports/kept-checkpoint.ts'
import type { Meter } from '../../core/src/ports/meter.ts'
import { SignerError } from '../../core/src/ports/signer.ts'
import { StoreError } from '../../core/src/ports/store.ts'
import { WitnessError } from '../../core/src/ports/witness.ts'
import { TestClock } from '../../../tests/harness/test-clock.ts'
import { ClockGuard } from '../src/clock-guard.ts'
import { countFailure } from '../src/count-failure.ts'
import { startMaintenance } from '../src/maintenance.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000

/** A meter and a log that keep what they receive. */
function kept() {
  const lines: unknown[][] = []
  const keep =
    (name: string) =>
    (...given: unknown[]) =>
      void lines.push([name, ...given])
  const meter = { failed: keep('failed'), workFailed: keep('workFailed'), worked: keep('worked') }
  const log = { info: keep('info'), warn: keep('warn'), error: keep('error') }
  return { lines, meter: meter as unknown as Meter, log: log as unknown as Logger }
}

test('a failure of background work counts for its cause, and otherwise as a defect of the work', () => {
  const cause = new Error('cause')
  for (const [failure, expected] of [
    [new SignerError('x'), [['failed', 'signer']]],
    [new CheckpointError('x', { cause }), [['failed', 'checkpoint_file']]],
    [new WitnessError('x'), [['failed', 'witness']]],
    [new StoreError('x', { cause }), []],
    [new LogRefused('x'), []],
    [new RangeError('x'), [['workFailed', 'receipts']]],
    ['text', [['workFailed', 'receipts']]],
  ] as const) {
    const { meter, lines } = kept()
    countFailure(meter, 'receipts', failure)
    assert.deepEqual(lines, expected, String(failure))
  }
})

/** A service whose store fails, and the times at which its clock was asked to call back. */
function failing(more: Partial<Service> = {}) {
  const clock = new TestClock()
  const asked: number[] = []
  const watched = {
    now: () => clock.now(),
    elapsed: () => clock.elapsed(),
    schedule(at: number, callback: () => void) {
      asked.push(at - clock.now())
      return clock.schedule(at, callback)
    },
  }
  const { meter, log, lines } = kept()
  const fail = async () => {
    throw new Error('down')
  }
  const store = { write: fail, read: fail, externalChanges: fail, during: () => store }
  const service = { clock: watched, meter, store, peers: {}, ...more } as unknown as Service
  return { clock, watched, asked, service, log, lines }
}

test('each kind of maintenance has its own pause, and what a node lacks has none', () => {
  const pausesOf = (more: Partial<Service>) => {
    const { service, asked, log, watched } = failing(more)
    startMaintenance(service, { log, guard: new ClockGuard(watched) })()
    return asked
  }
  const [expire, external] = [SECOND_MS, 250]
  const purges = [MINUTE_MS, HOUR_MS]
  const [repairs, receipts, witnesses, credentials] = [MINUTE_MS, SECOND_MS, SECOND_MS, MINUTE_MS]
  const [level, limits] = [10 * SECOND_MS, 250]
  const alone = [expire, external, ...purges, repairs, credentials]
  assert.deepEqual(pausesOf({}), alone)
  const signing = { receiptSigner: {} } as Partial<Service>
  const witnessed = { witnesses: [{}] } as unknown as Partial<Service>
  const shared = { peers: { exchange: async () => 'silent' } } as unknown as Partial<Service>
  assert.deepEqual(pausesOf(signing), [...alone.slice(0, 5), receipts, credentials])
  // A node that signs nothing has nothing to cosign.
  assert.deepEqual(pausesOf(witnessed), alone)
  assert.deepEqual(pausesOf({ ...signing, ...witnessed, ...shared }), [
    ...alone.slice(0, 5),
    receipts,
    witnesses,
    credentials,
    level,
    limits,
  ])
})

test('work that fails is logged with its name and counted, and begins again after its pause', async () => {
  const { service, asked, log, lines, clock, watched } = failing()
  const stop = startMaintenance(service, { log, guard: new ClockGuard(watched) })
  asked.length = 0
  clock.advance(250)
  for (let turns = 0; turns < 5; turns++) await turn()
  assert.deepEqual(asked, [250])
  assert.deepEqual(
    lines.map(([name, first, text]) => [name, (first as { work?: string }).work ?? first, text]),
    [
      ['workFailed', 'publish_external', undefined],
      ['error', 'publish_external', 'background work failed'],
    ],
  )
  const [, { failures, err }] = lines[1] as [string, { failures: number; err: Error }]
  assert.deepEqual([failures, err.message], [1, 'down'])
  stop()
  asked.length = 0
  clock.advance(HOUR_MS)
  for (let turns = 0; turns < 5; turns++) await turn()
  assert.deepEqual(asked, [])
})

test('a step of the clock holds what deletes for an hour, and what sends for two minutes', () => {
  const clock = new TestClock()
  const steps: number[] = []
  const guard = new ClockGuard(clock, (ms) => steps.push(ms))
  const seen = () => [guard.stepMs(), guard.mayDelete(), guard.maySend()]
  assert.deepEqual(seen(), [0, true, true])
  // Slow corrections do not count as a step.
  clock.set(10_000)
  assert.deepEqual(seen(), [0, true, true])
  clock.set(0)
  assert.deepEqual(seen(), [0, true, true])

  clock.set(-10_001)
  assert.deepEqual([seen(), steps], [[-10_001, false, false], [-10_001]])
  clock.advance(2 * MINUTE_MS - 1)
  assert.deepEqual(seen(), [-10_001, false, false])
  clock.advance(1)
  assert.deepEqual(seen(), [-10_001, false, true])
  clock.advance(HOUR_MS - 2 * MINUTE_MS - 1)
  assert.deepEqual(seen(), [-10_001, false, true])
  clock.advance(1)
  // It has kept its new time for an hour.
  assert.deepEqual([seen(), steps], [[0, true, true], [-10_001]])

  // A second step begins the time anew, and a clock that is back is trusted at once.
  clock.set(50_000)
  assert.equal(guard.maySend(), false)
  clock.advance(MINUTE_MS)
  clock.set(70_000)
  clock.advance(MINUTE_MS)
  assert.equal(guard.maySend(), false)
  clock.set(-10_001)
  assert.deepEqual(seen(), [0, true, true])
  assert.deepEqual(steps, [-10_001, 60_001, 80_001, 0])
})
