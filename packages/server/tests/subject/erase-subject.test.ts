import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { makeId, type TenantId } from '@bonded/contract'
import { type ReceiptKeySet, verifyReceipt } from '../../../integrator/src/index.ts'
import { eraseSubject } from '../../../core/src/operations/admin/erase-subject.ts'
import { exportSubject } from '../../../core/src/operations/admin/export-subject.ts'
import { changeSubject } from '../../../core/src/operations/admin/subjects.ts'
import { auditedService, personReference } from '../../../core/src/operations/audit/audit.ts'
import type { Service } from '../../../core/src/operations/service.ts'
import type { Unit } from '../../../core/src/ports/store.ts'
import { dumpSqlite } from '../../../store/src/backup/sqlite-backup.ts'
import { vacuumPostgres } from '../../../store/src/postgres/vacuum-postgres.ts'
import { vacuumSqlite } from '../../../store/src/sqlite/vacuum-sqlite.ts'
import { prometheusMeter } from '../../src/adapters/meter/prometheus-meter.ts'
import { type Harness, harness, PUBLIC_ORIGIN } from '../../../../tests/harness/harness.ts'
import { type PostgresServer, startPostgres } from '../../../store/tests/servers/postgres.ts'
import { settingsOf } from '../../../store/tests/servers/test-database.ts'
import { typed } from '../../../../tests/samples/replacements.ts'
import { type Sample, samplesOf } from '../../../../tests/samples/samples.ts'
import { addEndpoints, addUser, ECHO, multiply, settle, valuesOf } from './erased-user.ts'
import { databaseBytes, dump, foundIn, storeUncompressed, walBytes } from './stored-bytes.ts'

const OTHERS = 1_000

async function setUp(server?: PostgresServer) {
  const meter = prometheusMeter({ version: '0.0.0' })
  const h = await harness({ webhooks: ECHO, meter, onPostgres: server })
  const other = await h.addTenant({ name: 'Other', origins: ['https://other.example'] })
  await storeUncompressed(h)
  await addEndpoints(h, [h.shop, other])
  return { h, meter, other }
}

/** A copy of the database as a backup has it: SQLite's own, or every row, which `pg_dump` reads. */
async function backupOf(h: Harness): Promise<Buffer> {
  if (h.databaseUrl !== undefined)
    return Buffer.from([...(await dump(h)).values()].flat().join('\n'))
  const folder = mkdtempSync(join(tmpdir(), 'bonded-erased-'))
  const copy = join(folder, 'copy.db')
  dumpSqlite(h.databaseFile, copy)
  const bytes = readFileSync(copy)
  rmSync(folder, { recursive: true })
  return bytes
}

const vacuum = async (h: Harness) =>
  h.databaseUrl === undefined
    ? vacuumSqlite(h.databaseFile)
    : vacuumPostgres(settingsOf(h.databaseUrl))

test('leaves nothing of an erased user in any file, and the rows of 1,000 others as they were', async () => {
  const { h, meter, other } = await setUp()
  await using _ = h
  const theirs = await addUser(h, 'Friedrich Oberhuber', other)
  await settle(h)
  await multiply(h, theirs, OTHERS)
  const before = await dump(h)
  const own = await addUser(h, 'Klara Vogelsang', other)
  await settle(h)
  const receipt = await h.api('GET', `/sessions/${own.completed.id}/receipt`, {
    token: h.shop.server,
  })
  const audited = auditedService(h.service, {
    action: 'subject erase',
    actor: { kind: 'operator', name: 'root' },
    requestId: makeId('req', Buffer.alloc(16, 7)),
    target: { subjectId: own.subjectId },
    reason: 'request 4711',
  })
  await changeSubject(audited, own.subjectId, 'block')

  const ofOthers = [...before.values()].flat().join('\n')
  const values = new Map(
    [...(await valuesOf(h, own))].filter(
      ([, value]) => typeof value !== 'string' || !ofOthers.includes(value),
    ),
  )
  assert.ok(values.size > 40, `only ${values.size} values`)
  assert.deepEqual(foundIn(await databaseBytes(h), values), [...values.keys()])

  const reference = await personReference(h.service, own.subjectId)
  const erased = await eraseSubject(audited, own.subjectId)
  assert.deepEqual(
    [erased.isWhole, erased.devices, erased.endedSessions, erased.sessions],
    [true, 2, 2, 3],
  )
  for (const { id } of own.running)
    assert.equal((await h.get({ id })).body.ended_reason, 'killed_by_operator')
  await settle(h)
  const after = await dump(h)
  for (const [table, rows] of before)
    if (!/^(?:receipt_log|node_)|^webhook_endpoint$/.test(table)) {
      const left = new Set(after.get(table))
      assert.deepEqual(rows.filter((each) => !left.has(each)).slice(0, 3), [], table)
    }
  const added = [...after].filter(([table, rows]) => rows.length > (before.get(table)?.length ?? 0))
  const grown = ['audit_entry', 'session', 'session_event', 'webhook_delivery']
  assert.deepEqual(
    added
      .map(([table]) => table)
      .filter((table) => !/^(?:receipt_log|idempotency|node_|used_challenge)/.test(table)),
    grown,
  )

  const entries = await h.service.store.read(({ audit }) => audit.list({ limit: 9 }))
  assert.deepEqual(
    entries.map(({ person, reason }) => [person, reason]),
    [1, 2].map(() => [reference, 'request 4711']),
  )
  assert.equal(await personReference(h.service, own.subjectId), undefined)

  await vacuum(h)
  assert.deepEqual(foundIn(await databaseBytes(h), values), [])
  assert.deepEqual(foundIn([await backupOf(h)], values), [])
  assert.deepEqual(foundIn([Buffer.from(h.lines.join(''))], values), [])
  assert.deepEqual(foundIn([Buffer.from(await meter.read())], values), [])

  // The receipt that the tenant keeps, and its proof, are as good as before.
  const { receipt: jws, proof } = receipt.body
  const jwks = JSON.parse((await h.call('GET', '/.well-known/jwks.json')).text) as ReceiptKeySet
  const verdict = await verifyReceipt({
    receipt: jws,
    proof,
    jwks,
    issuer: PUBLIC_ORIGIN,
    tenantId: h.shop.tenant.id,
  })
  assert.equal(verdict.decision, 'accept')
  assert.ok(proof !== null)
})

if (process.env.TEST_STORE === 'postgres')
  test('leaves nothing of an erased user in the write-ahead log of PostgreSQL after the statements of the guide', async () => {
    const statements = samplesOf('docs/guides/operate/personal-data.md').filter(
      ({ language }) => language === 'sql',
    )
    const [overwrite, retained] = statements as [Sample, Sample]
    // Other tests write to the log of the shared server. Segments of 1 MB are searched sooner.
    await using server = await startPostgres({ min_wal_size: '2MB' }, { parent: tmpdir() })
    await server.run(`select pg_create_physical_replication_slot('standby', true)`)
    const { h, other } = await setUp(server)
    await using _ = h
    const user = await addUser(h, 'Klara Vogelsang', other)
    await settle(h)
    const values = await valuesOf(h, user)
    await eraseSubject(h.service, user.subjectId)
    await settle(h)
    await vacuum(h)
    const found = async () => foundIn(await walBytes(h), values)
    // PostgreSQL returns the times of its files in whole seconds.
    const [at] = await server.run(`select date_trunc('second', clock_timestamp())::text as time`)
    const olderSegments = () =>
      server.run(typed(retained, { '2026-11-27 09:30:00+00': String(at?.time) }))

    await server.run('select pg_switch_wal(); checkpoint')
    assert.ok((await found()).length > 40, 'old segments stay for later use')
    await server.run(typed(overwrite))
    assert.notDeepEqual(await olderSegments(), [], 'the slot retains segments')
    assert.notDeepEqual(await found(), [])
    await server.run(`select pg_drop_replication_slot('standby')`)
    await server.run(typed(overwrite))
    assert.deepEqual(await olderSegments(), [])
    assert.deepEqual(await found(), [])
  })

test('completes an erasure that was killed after any of its transactions', async () => {
  const { h, other } = await setUp()
  await using _ = h
  for (let transactions = 1; ; transactions++) {
    const user = await addUser(h, 'Klara Vogelsang', other)
    const values = await valuesOf(h, user)
    const isKilled = await eraseSubject(dyingAfter(h.service, transactions), user.subjectId).then(
      () => false,
      (failure: Error) => failure.message === 'killed' || assert.fail(failure),
    )
    if (isKilled) await eraseSubject(h.service, user.subjectId)
    const left = [...(await dump(h)).values()].flat().join('\n')
    const unique = new Map([...values].filter(([, value]) => /^(?:sub|dev)_/.test(String(value))))
    assert.deepEqual(foundIn([Buffer.from(left)], unique), [], `after ${transactions}`)
    assert.ok(!left.includes('Klara Vogelsang'), `after ${transactions}`)
    await assert.rejects(eraseSubject(h.service, user.subjectId), { code: 'not_found' })
    if (!isKilled) break
    assert.ok(transactions < 40)
  }
})

/** The service of a process that ends after so many transactions. */
function dyingAfter(service: Service, transactions: number): Service {
  let left = transactions
  const { store } = service
  const dying = Object.create(store) as typeof store
  dying.write = async <T>(unit: Unit<T>) => {
    if (left === 0) throw new Error('killed')
    left -= 1
    return store.write(unit)
  }
  dying.read = (unit) => store.read(unit)
  return { ...service, store: dying }
}

test('erases and exports for one tenant what that tenant has, and with the last one the user', async () => {
  const { h, other } = await setUp()
  await using _ = h
  const user = await addUser(h, 'Klara Vogelsang', other)
  const refAt = async (tenantId: TenantId) =>
    (await h.service.store.read((tables) => tables.subjects.references(user.subjectId))).find(
      (each) => each.tenantId === tenantId,
    )?.subjectRef ?? ''
  const [atShop, atOther] = [await refAt(h.shop.tenant.id), await refAt(other.tenant.id)]
  const named = { tenantId: h.shop.tenant.id, subjectRef: atShop }
  const copyOf = async (of: Parameters<typeof exportSubject>[1]) =>
    JSON.stringify(await exportSubject(h.service, of))

  const atBoth = await copyOf(user.subjectId)
  assert.ok(atBoth.includes('a transfer to her landlord') && atBoth.includes('a second loan'))
  assert.ok(atBoth.includes('+491701234567'), 'the number is sealed')
  const own = await copyOf(named)
  assert.ok(!own.includes('a transfer to her landlord') && own.includes('a second loan'))
  assert.ok(!own.includes(atOther))

  const first = await eraseSubject(h.service, named)
  assert.deepEqual([first.isWhole, first.devices], [false, 0])
  const left = await copyOf(user.subjectId)
  assert.ok(left.includes('a transfer to her landlord') && !left.includes('a second loan'))
  assert.ok(!left.includes(atShop))
  // The phone is still registered, and another tenant can use it.
  const session = await h.create(undefined, other)
  assert.equal((await h.claim(user.phones[0] ?? assert.fail(), session)).status, 200)

  const last = await eraseSubject(h.service, {
    tenantId: other.tenant.id,
    subjectRef: atOther,
  })
  assert.deepEqual([last.isWhole, last.devices], [true, 2])
  await assert.rejects(copyOf(user.subjectId), { code: 'not_found' })
})
