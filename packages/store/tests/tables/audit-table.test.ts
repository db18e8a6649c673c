import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RequestId, SubjectId, TenantId } from '@bonded/contract'
import type { AuditEntry } from '../../../core/src/domain/audit.ts'
import { cachedDriver, postgresDriver, sqlDriver } from './table-drivers.ts'
import { NOW } from './table-operations.ts'

const DRIVERS =
  process.env.TEST_STORE === 'postgres'
    ? ([['PostgreSQL', postgresDriver]] as const)
    : ([
        ['SQL', sqlDriver],
        ['cached', cachedDriver],
      ] as const)

function entry(number: number, given: Partial<AuditEntry> = {}): AuditEntry {
  return {
    number,
    at: NOW + number,
    action: 'device block',
    actorKind: 'operator',
    actor: 'alice',
    issuer: 'https://idp.example',
    address: '192.0.2.1',
    requestId: 'req_a' as RequestId,
    tenantId: null,
    person: null,
    target: '{}',
    valueBefore: '{"device.status":"active"}',
    valueAfter: null,
    result: 'success',
    reason: 'T-1',
    previous: '',
    contentHash: null,
    ...given,
  }
}

for (const [kind, open] of DRIVERS) {
  test(`${kind} tables: list the audit entries as they were added, oldest first, by each member`, async () => {
    await using driver = await open()
    const tenantId = 'ten_a' as TenantId
    const entries = [
      entry(1),
      entry(2, { tenantId, person: 'p', issuer: null, address: null, reason: null }),
      entry(3, { action: 'device remove', valueBefore: null, valueAfter: '{}' }),
    ]
    assert.equal(await driver.read((tables) => tables.audit.last()), undefined)
    for (const added of entries)
      await driver.write(function* ({ audit }) {
        yield* audit.lock()
        yield* audit.add(added)
      })
    const list = (query: object) =>
      driver.read((tables) => tables.audit.list({ limit: 10, ...query }))
    assert.deepEqual(await list({}), entries)
    assert.deepEqual(await driver.read((tables) => tables.audit.last()), entries[2])
    const numbers = async (query: object) => (await list(query)).map(({ number }) => number)
    assert.deepEqual(await numbers({ after: 1, limit: 1 }), [2])
    assert.deepEqual(await numbers({ newestFirst: true, limit: 2 }), [3, 2])
    assert.deepEqual(await numbers({ newestFirst: true, before: 2 }), [1])
    assert.deepEqual(await numbers({ since: NOW + 2 }), [2, 3])
    assert.deepEqual(await numbers({ until: NOW + 2 }), [1, 2])
    assert.deepEqual(await numbers({ tenantId }), [2])
    assert.deepEqual(await numbers({ person: 'p' }), [2])
    assert.deepEqual(await numbers({ action: 'device remove' }), [3])
  })

  test(`${kind} tables: never give two audit entries one number`, async () => {
    await using driver = await open()
    await driver.write((tables) => tables.audit.add(entry(1)))
    await assert.rejects(driver.write((tables) => tables.audit.add(entry(1, { actor: 'b' }))))
    const all = await driver.read((tables) => tables.audit.list({ limit: 10 }))
    assert.deepEqual(all, [entry(1)])
  })

  test(`${kind} tables: delete emptied audit entries only where the log of receipts has them`, async () => {
    await using driver = await open()
    for (const number of [1, 2, 3, 4]) await driver.write(({ audit }) => audit.add(entry(number)))
    for (const number of [1, 2, 3])
      await driver.write(({ audit }) => audit.empty(entry(number), `hash ${number}`))
    const left = async () => {
      await driver.write(({ audit }) => audit.dropEmpty())
      const all = await driver.read(({ audit }) => audit.list({ limit: 10 }))
      return all.map(({ number }) => number)
    }
    const cover = (before: number, auditSize: number) =>
      driver.write(({ receiptLog }) =>
        receiptLog.append({ before, size: before + 1, auditSize, tiles: [], now: NOW }),
      )
    assert.deepEqual(await left(), [1, 2, 3, 4])
    assert.equal(await cover(0, 2), true)
    assert.deepEqual(await left(), [2, 3, 4])
    assert.equal(await cover(1, 4), true)
    // The last one shows up to which time entries are deleted.
    assert.deepEqual(await left(), [3, 4])
  })

  test(`${kind} tables: keep the first key of a user until it is deleted`, async () => {
    await using driver = await open()
    const id = 'sub_a' as SubjectId
    const keyOf = () => driver.read((tables) => tables.audit.personKey(id))
    assert.equal(await keyOf(), undefined)
    for (const key of ['first', 'second'])
      await driver.write((tables) => tables.audit.addPersonKey(id, key))
    assert.equal(await keyOf(), 'first')
    await driver.write((tables) =>
      tables.subjectData.deleteSubject({
        subjectId: id,
        tenantId: undefined,
        deviceIds: [],
        references: [],
        sessionIds: [],
        sessionKeys: [],
      }),
    )
    assert.equal(await keyOf(), undefined)
  })
}
