import assert from 'node:assert/strict'
import { test } from 'node:test'
import { harness, PUBLIC_ORIGIN, ROOT_KEY } from '../../../../tests/harness/harness.ts'
import { machine } from '../../../../tests/harness/process.ts'

/** Commands on the database of a service, with the time of the machine. */
async function scene() {
  const h = await harness()
  h.clock.set(Date.now() - h.clock.now())
  const env = {
    BONDED_ROOT_KEYS: `${ROOT_KEY.id}:${Buffer.from(ROOT_KEY.bytes).toString('base64url')}`,
    BONDED_PUBLIC_ORIGIN: PUBLIC_ORIGIN,
    BONDED_DATA_DIR: h.folder,
  }
  return { h, commands: machine({ folder: h.folder, env }) }
}

test('stats prints how requests ended, and leaves no entry about a user', async () => {
  const { h, commands } = await scene()
  await using _ = h
  await h.reach('completed')
  await h.kill((await h.reach('pending')).session)
  const tenantId = h.shop.tenant.id
  const { total, rows } = commands.json('stats', tenantId, '--since', '1h')
  const { created, approved, completed, stopped, approved_share, latencies } = total
  assert.deepEqual([created, approved, completed, stopped, approved_share], [2, 1, 1, 1, '50 %'])
  assert.equal(latencies[0], 1)
  assert.ok(rows.length > 0 && rows.every(({ tenant_id }: { tenant_id: null }) => !tenant_id))

  const byWorkflow = commands.run('stats', '--since', '30d', '--by', 'workflow').stdout
  assert.match(byWorkflow, /^TENANT_ID +WORKFLOW +CREATED +APPROVED/)
  assert.match(byWorkflow, new RegExp(`^${tenantId} +credit_application +2 +1 +0`, 'm'))
  assert.match(byWorkflow, /^total +- +2 +1 +0/m)
  assert.match(byWorkflow, /^approved: by the phone/m)
  const none = commands.json('stats', '--since', '400d', '--by', 'day', '--workflow', 'other')
  assert.deepEqual([none.rows, none.total.created], [[], 0])
  assert.equal(commands.run('stats', '--since', '401d').status, 2)
  const actions = commands
    .json('audit', 'list')
    .entries.map(({ action }: { action: string }) => action)
  assert.deepEqual(actions, ['audit list'])
})

test('session list finds sessions by user, by end and by time, and records the read', async () => {
  const { h, commands } = await scene()
  await using _ = h
  const { session } = await h.reach('completed')
  const { subject_ref } = (await h.get(session)).body
  const { session: killed } = await h.reach('pending')
  await h.kill(killed)
  const found = (...options: string[]) =>
    commands
      .json('session', 'list', ...options)
      .sessions.map(({ session_id }: { session_id: string }) => session_id)
  assert.deepEqual(found('--subject-ref', subject_ref), [session.id])
  assert.deepEqual(found('--ended', 'killed_by_tenant'), [killed.id])
  assert.deepEqual(found('--ended', 'user_declined'), [])
  const [before, after] = [-1, 1].map((hours) =>
    new Date(Date.now() + hours * 3_600_000).toISOString(),
  ) as [string, string]
  assert.deepEqual(
    new Set(found('--since', before, '--until', after)),
    new Set([session.id, killed.id]),
  )
  assert.deepEqual([found('--until', before), found('--since', after)], [[], []])
  assert.equal(commands.json('audit', 'list', '--action', 'session list').entries.length, 6)
})
