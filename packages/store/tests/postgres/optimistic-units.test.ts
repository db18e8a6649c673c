import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SubjectId, TenantId } from '@bonded/contract'
import { OptimisticUnits } from '../../src/postgres/row-cache/optimistic-units.ts'
import { KINDS, type StoredReference } from '../../src/postgres/row-cache/row-kinds.ts'
import { RowLookups } from '../../src/postgres/row-cache/row-lookups.ts'
import {
  ABSENT,
  RowCache,
  rowKey,
  type VersionedRow,
} from '../../src/postgres/row-cache/row-cache.ts'
import { UnitRun } from '../../src/postgres/row-cache/unit-run.ts'
import { SessionKeys } from '../../src/tables/session-keys.ts'
import type { Unit } from '../../../core/src/ports/store.ts'

const cipher = { encrypt: (block: Uint8Array) => block, decrypt: (block: Uint8Array) => block }
const sessionKeys = new SessionKeys(cipher, { hasOldIds: false })

test('a unit gets only its own rows of a lookup that it shares', async () => {
  const cache = new RowCache()
  const absent = (place: number) => ['0', String(place), null, null] as const
  const asked: number[] = []
  const lookups = new RowLookups(async ([statement]) => {
    const keys = String(statement?.values[0]).split(',').length
    asked.push(keys)
    return [[['-1', '0', 'server'], ...Array.from({ length: keys }, (_, at) => absent(at + 1))]]
  }, cache)
  const units = new OptimisticUnits(cache, lookups, sessionKeys)
  const rowsOf = async (session: number) => {
    const run = new UnitRun(cache, { foundRows: new Map(), mayWrite: true, isCareful: false })
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

test('a unit stores a tenant’s first reference to a subject without an answer in between', () => {
  const cache = new RowCache()
  const lookups = new RowLookups(() => Promise.reject(new Error('not called')), cache)
  const units = new OptimisticUnits(cache, lookups, sessionKeys)
  const row = {
    tenantId: 'ten_a' as TenantId,
    subjectId: 'sub_a' as SubjectId,
    subjectRef: 'subj_derived',
  }
  const key = rowKey(KINDS.subjectRef, row.tenantId, row.subjectId)
  const run = (stored: VersionedRow<StoredReference>) => {
    const unit: Unit<string> = (tables) => tables.devices.pairwise(row)
    const foundRows = new Map([[key.text, stored]])
    return units.run({ unit, cause: undefined, foundRows }, { isCareful: false })
  }
  const first = run(ABSENT)
  assert.deepEqual(first.end, { is: 'finished', value: 'subj_derived' })
  assert.equal(first.run.statements.length, 1)
  assert.equal(first.run.used.get(key.text)?.version, null, 'the batch checks that there is none')
  const later = run({ version: '1', value: { subjectRef: 'subj_stored', blocked: false } })
  assert.deepEqual(later.end, { is: 'finished', value: 'subj_stored' })
  assert.equal(later.run.statements.length, 0)
})
