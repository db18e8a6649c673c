import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdirSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { AUDIT_CLASSES } from '@bonded/cli/program/audit-classes'
import { leavesOf } from '@bonded/cli/program/audited'
import { issueKey } from '../../core/src/operations/admin/keys.ts'
import { suspendTenant } from '../../core/src/operations/admin/suspend-tenant.ts'
import { makeReceipts } from '../../core/src/operations/receipt/make-receipts.ts'
import type { SubjectReference } from '../../core/src/ports/tables/subject-table.ts'
import { bondedProgram } from '../src/program.ts'
import { type Harness, harness, ROOT_KEY } from '../../../tests/harness/harness.ts'
import { CREATE_TENANT } from '../../../tests/harness/process.ts'
import { webhookEvent } from '../../../tests/harness/webhook-event.ts'
import type { CommandResult, CommandRun } from './run-commands.ts'

/** They act as a tenant and a phone, and only in part as the operator. */
const NO_OPERATOR = ['open', 'trigger']

test('has an audit class for each command of the program, and for no other', async () => {
  const paths = leavesOf(await bondedProgram()).map(({ path }) => path)
  assert.deepEqual(Object.keys(AUDIT_CLASSES).toSorted(), paths.toSorted())
})

test('records each command that changes something or reads data of a user, and no other', async () => {
  // Commands have the time of the machine.
  await using h = await harness()
  h.clock.set(Date.now() - h.clock.now())
  const runs = await commandsOn(h)
  const recorded = Object.entries(AUDIT_CLASSES).filter(([, kind]) => kind !== 'neither')
  for (const [path] of recorded)
    assert.ok(
      NO_OPERATOR.includes(path) || runs.some(({ words }) => isOf(words, path)),
      `no test of "${path}"`,
    )
  const results = await runAll(h, runs)
  for (const [index, { words }] of runs.entries()) {
    const path = Object.keys(AUDIT_CLASSES).find((known) => isOf(words, known)) ?? ''
    const { added, failure } = results[index] as CommandResult
    assert.equal(failure, undefined, words.join(' '))
    const expected = AUDIT_CLASSES[path] === 'neither' ? [] : [`${path} success`]
    // A restored database also has the entries of the backup.
    const own = path === 'restore' ? added.slice(-1) : added
    assert.deepEqual(own, expected, words.join(' '))
  }
})

/** One writes the credential into a file, and the other one copies those of a backup. */
const MAKES_SECRETS = ['init', 'restore']

test('every command whose output is lost fails, and leaves no secret that was not shown', {
  skip: process.platform !== 'linux' && 'only Linux has /dev/full',
}, async () => {
  await using h = await harness()
  h.clock.set(Date.now() - h.clock.now())
  const runs = await commandsOn(h)
  const results = await runAll(h, runs, '/dev/full')
  for (const [index, { words }] of runs.entries()) {
    const { failure, newSecrets } = results[index] as CommandResult
    assert.match(failure ?? 'succeeded', /The output was cut off: .*ENOSPC/, words.join(' '))
    if (!MAKES_SECRETS.includes(words[0] ?? '')) assert.ok(newSecrets <= 0, words.join(' '))
  }
})

test('records a rejected command with its code, and a read', async () => {
  await using h = await harness()
  const lines = ['key revoke aaaaaaaaaa --json --reason T-7', 'session list --json']
  const runs = lines.map((line) => ({ words: line.split(' '), database: h.databaseFile }))
  const [rejected, read] = await runAll(h, runs)
  assert.match(rejected?.failure ?? '', /No such key/)
  assert.deepEqual(rejected?.added, ['key revoke not_found'])
  assert.deepEqual(read?.added, ['session list success'])
})

const FAR_FUTURE = Date.parse('2100-01-01')

function isOf(words: readonly string[], path: string): boolean {
  return words.slice(0, path.split(' ').length).join(' ') === path
}

/** One call of each command, in an order in which all succeed. */
async function commandsOn(h: Harness): Promise<readonly CommandRun[]> {
  const tenant = h.shop.tenant.id
  const { endpoint_id: endpoint, event_id: event } = await webhookEvent(h)
  const { session, phone } = await h.reach('completed')
  const { subject_ref } = (await h.get(session)).body
  const pending = await h.create()
  await makeReceipts(h.service)
  const given = { tenantId: tenant, kind: 'publishable', scope: null } as const
  const [{ key }, { key: rolled }] = [
    await issueKey(h.service, given),
    await issueKey(h.service, given),
  ]
  const { device_id: device, subject_id: subject } = phone
  const paused = { tenantId: tenant, subjectId: subject as SubjectReference['subjectId'] }
  await h.service.store.write(({ subjects }) => subjects.pauseInbox(paused, FAR_FUTURE))
  const file = join(h.folder, 'backup')
  const elsewhere = join(h.folder, 'restored')
  const { tenant: gone } = await h.addTenant({ name: 'Gone' })
  await suspendTenant(h.service, gone.id)
  const document = join(h.folder, 'tenants.yaml')
  writeFileSync(
    document,
    'tenants: [{name: Applied, environment: sandbox, workflows: [{name: a, actions: [a]}]}]',
  )
  const lines = [
    'config print',
    'tenant list',
    `tenant show ${tenant}`,
    `tenant update ${tenant} --name Renamed --reason T-1`,
    `tenant limits ${tenant}`,
    `apply --file ${document}`,
    'export',
    `tenant suspend ${tenant}`,
    `tenant resume ${tenant}`,
    `tenant remove ${gone.id} --name Gone`,
    `key issue ${tenant} --kind server`,
    `key roll ${rolled}`,
    `key revoke ${key}`,
    `key list ${tenant}`,
    'session list',
    `session rejections --subject-ref ${subject_ref} --tenant ${tenant}`,
    `session show ${session.id}`,
    `session timeline ${session.id}`,
    `session tail ${session.id}`,
    `session kill ${pending.id}`,
    `device list --subject ${subject}`,
    `device show ${device}`,
    `device timeline ${device}`,
    `device block ${device}`,
    `device unblock ${device}`,
    `subject show ${subject}`,
    `subject block ${subject}`,
    `subject unblock --subject-ref ${subject_ref} --tenant ${tenant}`,
    `subject resume-inbox ${subject}`,
    `subject export ${subject}`,
    `device remove ${device}`,
    `receipt get ${session.id}`,
    'receipt new-epoch',
    `audit list --device ${device}`,
    'audit export',
    'audit verify',
    `webhook create ${tenant} --url https://hooks.example/other`,
    `webhook list ${tenant}`,
    `webhook update ${endpoint} --disable`,
    `webhook rotate ${endpoint}`,
    `webhook test ${endpoint}`,
    `webhook deliveries ${tenant}`,
    `webhook delivery ${event}`,
    `webhook retry ${event}`,
    `webhook recover ${endpoint} --since 1h`,
    `webhook delete ${endpoint}`,
    `subject erase ${subject} --reason T-2`,
    'vacuum',
    `backup ${file}`,
  ]
  const database = h.databaseFile
  return [
    { words: [...CREATE_TENANT, '--json'], database },
    ...lines.map((line) => ({ words: [...line.split(' '), '--json'], database })),
    {
      words: ['restore', file, '--data-dir', elsewhere, '--json'],
      database: join(elsewhere, 'bonded.db'),
    },
    { words: ['init', 'express', '--json'], database },
  ]
}

async function runAll(
  { folder }: Harness,
  runs: readonly CommandRun[],
  output = '/dev/null',
): Promise<readonly CommandResult[]> {
  const cwd = join(folder, 'project')
  mkdirSync(cwd)
  const { NODE_TEST_CONTEXT: _testContext, ...inherited } = process.env
  const key = Buffer.from(ROOT_KEY.bytes).toString('base64url')
  const file = openSync(output, 'w')
  const child = fork(join(import.meta.dirname, 'run-commands.ts'), {
    cwd,
    execArgv: ['--conditions=@bonded/source', '--disable-warning=ExperimentalWarning'],
    env: { ...inherited, BONDED_DATA_DIR: folder, BONDED_ROOT_KEYS: `${ROOT_KEY.id}:${key}` },
    stdio: ['ignore', file, 'inherit', 'ipc'],
  })
  closeSync(file)
  const ended = once(child, 'exit')
  const replied = once(child, 'message')
  child.send(runs)
  const [results] = (await Promise.race([replied, ended.then(() => [[]])])) as [CommandResult[]]
  await ended
  return results
}
