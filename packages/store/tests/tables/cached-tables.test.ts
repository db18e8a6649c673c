import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../../tests/random.ts'
import type { Tables, Unit } from '../../../core/src/ports/store.ts'
import type { Work } from '../../../core/src/ports/work.ts'
import { cachedDriver, sqlDriver, type TableDriver, UNBINDABLE } from './table-drivers.ts'
import {
  DEVICES,
  EMPTY,
  type Operands,
  OUTSIDE_WRITES,
  READS,
  readAll,
  registerDevices,
  type Seen,
  SESSIONS,
  TENANTS,
  TOKENS,
  WRITES,
} from './table-operations.ts'

type Step =
  | { readonly kind: 'write' | 'undo' | 'failing_events' | 'read'; readonly calls: readonly Call[] }
  | { readonly kind: 'outside'; readonly sql: string }

type Call = Operands & { readonly name: string }

const operands = {
  session: fc.nat(SESSIONS.length - 1),
  device: fc.nat(DEVICES.length - 1),
  tenant: fc.nat(TENANTS.length - 1),
  value: fc.nat(TOKENS.length - 1),
  outdated: fc.boolean(),
}
const calls = (names: readonly string[]) =>
  fc.array(fc.record({ name: fc.constantFrom(...names), ...operands }), {
    minLength: 1,
    maxLength: 8,
    size: 'max',
  })
const reads = Object.keys(READS)
// As many reads as writes: a wrong entry shows only when it is read.
const anyCalls = calls([...reads, ...reads, ...Object.keys(WRITES)])
const steps: fc.Arbitrary<Step> = fc.oneof(
  { weight: 12, arbitrary: fc.record({ kind: fc.constant('write'), calls: anyCalls }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('read'), calls: calls(reads) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('undo'), calls: anyCalls }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('failing_events'), calls: anyCalls }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('outside'),
      sql: fc.constantFrom(...OUTSIDE_WRITES),
    }),
  },
)

/** Makes the calls one after another. One that fails does not stop the unit. */
function unitOf(made: readonly Call[], seen: Seen): Unit<unknown[]> {
  return function* (tables: Tables): Work<unknown[]> {
    const responses: unknown[] = []
    for (const call of made) {
      try {
        responses.push(yield* (READS[call.name] ?? WRITES[call.name])?.(tables, call, seen) ?? [])
      } catch {
        responses.push('failed')
      }
    }
    return responses
  }
}

async function take(driver: TableDriver, step: Step, seen: Seen): Promise<unknown> {
  if (step.kind === 'outside') return driver.writeOutside(step.sql)
  const unit = unitOf(step.calls, seen)
  if (step.kind === 'read') return driver.read(unit)
  if (step.kind === 'undo') return driver.undo(unit)
  return driver.write(unit, step.kind === 'failing_events' ? UNBINDABLE : undefined)
}

test('the cached tables answer as the SQL tables do, whatever is undone, fails or is written outside', async () => {
  await using sql = sqlDriver()
  await using cached = cachedDriver()
  await fc.assert(
    fc.asyncProperty(
      fc.array(steps, { minLength: 30, maxLength: 60, size: 'max' }),
      async (taken) => {
        const seen = { sql: new Map(), cached: new Map() }
        for (const driver of [sql, cached]) {
          await driver.writeOutside(EMPTY)
          await driver.write(registerDevices)
        }
        for (const step of taken) {
          const expected = await take(sql, step, seen.sql)
          assert.deepEqual(await take(cached, step, seen.cached), expected)
        }
        assert.deepEqual(await cached.read(readAll), await sql.read(readAll))
      },
    ),
    // Shrinking commits thousands of times. The seed in the error repeats the failure.
    { numRuns: 40, endOnFailure: true },
  )
})
