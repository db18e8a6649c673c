import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { listKeys } from '../../../core/src/operations/admin/keys.ts'
import { suspendTenant } from '../../../core/src/operations/admin/suspend-tenant.ts'
import { listTenants } from '../../../core/src/operations/admin/tenants.ts'
import { addEndpoints, addUser, ECHO, settle } from '../../../server/tests/subject/erased-user.ts'
import { dump } from '../../../server/tests/subject/stored-bytes.ts'
import { harness, ROOT_KEY } from '../../../../tests/harness/harness.ts'
import { machine } from '../../../../tests/harness/process.ts'

const KILLER = join(import.meta.dirname, '../../../../tests/harness/kill-at.ts')
const MANY = 40
/** A command takes longer on PostgreSQL, and has the same transactions. */
const STEP = process.env.TEST_STORE === 'postgres' ? 4 : 1

const h = await harness({ webhooks: ECHO })
after(() => h[Symbol.asyncDispose]())
// Commands have the time of the machine.
h.clock.set(Date.now() - h.clock.now())
const other = await h.addTenant({ name: 'Other', origins: ['https://other.example'] })
await addEndpoints(h, [h.shop, other])
const key = Buffer.from(ROOT_KEY.bytes).toString('base64url')
const env = {
  BONDED_ROOT_KEYS: `${ROOT_KEY.id}:${key}`,
  ...(h.databaseUrl !== undefined && {
    BONDED_DATABASE_URL: h.databaseUrl,
    BONDED_DATABASE_PREPARED: 'off',
  }),
}

/** Kills the command before its first commit, then before a later one, until one run ends. */
async function runKilled(words: readonly string[], check: () => Promise<void>): Promise<void> {
  for (let commit = 1; ; commit += STEP) {
    using m = machine({
      folder: h.folder,
      env: { ...env, NODE_OPTIONS: `--import ${KILLER}`, KILL_AT: `commit:${commit} SIGKILL` },
    })
    // Not synchronously: the service of this process would keep its locks.
    const isDone = await m.jsonMeanwhile(...words).then(
      () => true,
      (failure: { signal?: string }) =>
        failure.signal !== 'SIGKILL' && assert.fail(String(failure)),
    )
    await check()
    if (isDone) return assert.ok(commit > 1, 'it was never killed')
    assert.ok(commit < MANY)
  }
}

/** The tables with a row that has the text. */
const tablesWith = async (text: string) =>
  [...(await dump(h))].filter(([, rows]) => rows.join().includes(text)).map(([table]) => table)

test('applies each tenant of a file or none of it, and a repeat completes what kill -9 has left', async () => {
  const { tenant: old } = await h.addTenant({ name: 'Old', origins: ['https://old.example'] })
  const unchanged = [h.shop.tenant.id, other.tenant.id]
  const file = join(h.folder, 'tenants.yaml')
  const members = 'environment: sandbox, workflows: [{name: a, actions: [a]}]'
  writeFileSync(
    file,
    `tenants:
  - {name: Applied, ${members}}
  - {tenantId: ${old.id}, name: Renamed, allowedOrigins: ['https://new.example'], ${members}}
  - {name: Last, ${members}}
`,
  )
  await runKilled(['apply', '--file', file, '--allow-similar-name'], async () => {
    for (const { id, name, origins, workflows } of await listTenants(h.service)) {
      if (unchanged.includes(id)) continue
      const isNew = name !== 'Old'
      assert.equal(workflows.length, isNew ? 1 : old.workflows.length)
      if (id === old.id) assert.deepEqual(origins, [`https://${isNew ? 'new' : 'old'}.example`])
      else assert.equal((await listKeys(h.service, id)).length, 2)
    }
  })
  using m = machine({ folder: h.folder, env })
  const names = (await listTenants(h.service)).map(({ name }) => name)
  assert.deepEqual(names.toSorted(), ['Applied', 'Last', 'Other', 'Renamed', 'Shop'])
  for (const { differences } of m.json('apply', '--file', file, '--plan'))
    assert.deepEqual(differences, [])
})

test('erases a user although kill -9 ended it before each of its commits', async () => {
  const { subjectId, phones } = await addUser(h, 'Klara Vogelsang', other)
  await runKilled(['subject', 'erase', subjectId, '--reason', 'request 4711'], async () => {})
  for (const text of ['Klara Vogelsang', subjectId, ...phones.map(({ device_id: id }) => id)])
    assert.deepEqual(await tablesWith(text), [], text)
})

test('removes a tenant although kill -9 ended it before each of its commits', async () => {
  const { id } = h.shop.tenant
  const user = await addUser(h, 'Karl Leitner', other)
  assert.equal((await h.complete(user.running[0] as never)).status, 200)
  await suspendTenant(h.service, id)
  await settle(h)
  await runKilled(['tenant', 'remove', id, '--name', 'Shop'], async () => {
    const tenant = (await listTenants(h.service)).find((each) => each.id === id)
    if (tenant === undefined) assert.deepEqual(await tablesWith(id), ['audit_entry'])
    else assert.notEqual(tenant.suspendedAt, undefined)
  })
  assert.deepEqual(await tablesWith(id), ['audit_entry'])
})
