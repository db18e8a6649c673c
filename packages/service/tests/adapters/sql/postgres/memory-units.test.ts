import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryUnits } from '../../../../src/adapters/sql/postgres/rows/memory-units.ts'
import { KINDS } from '../../../../src/adapters/sql/postgres/rows/row-kinds.ts'
import { RowLookups } from '../../../../src/adapters/sql/postgres/rows/row-lookups.ts'
import { RowMemory, rowKey } from '../../../../src/adapters/sql/postgres/rows/row-memory.ts'
import { UnitRun } from '../../../../src/adapters/sql/postgres/rows/unit-run.ts'
import { SessionKeys } from '../../../../src/adapters/sql/session-keys.ts'

test('a unit gets only its own rows of a lookup that it shares', async () => {
  const memory = new RowMemory()
  const absent = (place: number) => ['0', String(place), null, null] as const
  const asked: number[] = []
  const lookups = new RowLookups(async ([statement]) => {
    const keys = String(statement?.values[0]).split(',').length
    asked.push(keys)
    return [[['-1', '0', 'server'], ...Array.from({ length: keys }, (_, at) => absent(at + 1))]]
  }, memory)
  const cipher = { encrypt: (block: Uint8Array) => block, decrypt: (block: Uint8Array) => block }
  const units = new MemoryUnits(memory, lookups, new SessionKeys(cipher, { hasOldIds: false }))
  const rowsOf = async (session: number) => {
    const run = new UnitRun(memory, { answered: new Map(), writes: true, isCareful: false })
    const keys = [rowKey(KINDS.session, session)]
    return (await units.lookUp({ run, end: { is: 'missing', keys } })).found
  }
  const found = await Promise.all([rowsOf(1), rowsOf(2), rowsOf(3)])
  assert.deepEqual(asked, [3], 'they share one lookup')
  assert.deepEqual(
    found.map((rows) => [...rows.keys()]),
    [1, 2, 3].map((session) => [rowKey(KINDS.session, session).text]),
  )
})
