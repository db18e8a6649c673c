import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { migrate } from '../../../../store/src/migrations/migrate.ts'
import { MIGRATIONS } from '../../../../store/src/migrations/migrations.ts'
import { webauthnKey, withProductionRoots } from '../../../../../tests/harness/attested-phones.ts'
import { type Harness, harness } from '../../../../../tests/harness/harness.ts'

const STEP = MIGRATIONS.find(({ name }) => name.includes('unattested keys')) ?? {
  number: 0,
  name: '',
}
const ACTIONS = ['act']
/** Workflows as operators of earlier versions have written them. */
const WORKFLOWS = [
  { name: 'unset', actions: ACTIONS, require: ['local_auth' as const] },
  { name: 'attested', actions: ACTIONS, webauthn: 'attested' as const },
  { name: 'known', actions: ACTIONS, webauthn: 'known' as const },
  { name: 'any', actions: ACTIONS, webauthn: 'any' as const, passport: 'optional' as const },
]

/** Restores the schema before the step. */
const WITHOUT_STEP = `alter table device_continuity drop column completed_at;
  delete from migration where number = ${STEP.number}`

/** The bands of an unattested key, or that it is rejected, for an unnamed and a named user. */
async function bandsOf(h: Harness, workflow: string, keys = h.shop) {
  const phone = await h.register(undefined, webauthnKey('unattested'))
  const bandOf = async (body: object) => {
    const session = await h.create({ workflow, ...body }, keys)
    const claimed = await h.claim(phone, session)
    if (claimed.status !== 200) return { band: claimed.body.error.reason }
    await h.attest(phone, claimed.body)
    const { verification, subject_ref } = (await h.get(session, keys)).body
    return { band: verification.assertion_band, subject_ref }
  }
  const unnamed = await bandOf({})
  // A tenant learns the name from any other workflow.
  const { subject_ref } = unnamed.subject_ref ? unnamed : await bandOf({ workflow: 'any' })
  return [unnamed.band, (await bandOf({ subject_ref })).band]
}

test('writes the earlier rules for unattested keys into the workflows of production tenants', async () => {
  await using h = await harness({
    attestation: withProductionRoots,
    environment: 'production',
    workflows: WORKFLOWS,
  })
  const sandbox = await h.addTenant({
    name: 'Sandbox',
    origins: ['https://sandbox.example'],
    workflows: WORKFLOWS,
  })
  const empty = await h.addTenant({
    name: 'Empty',
    origins: ['https://empty.example'],
    environment: 'production',
    workflows: [],
  })
  using database = new DatabaseSync(h.databaseFile)
  database.exec(WITHOUT_STEP)
  assert.deepEqual(migrate(h.databaseFile, 0), [`${STEP.number} ${STEP.name}`])

  const workflowsOf = (tenantId: string) =>
    JSON.parse(
      String(
        database.prepare('select workflows from tenant where id = ?').get(tenantId)?.workflows,
      ),
    )
  const [unset, attested, known, any] = WORKFLOWS
  assert.deepEqual(workflowsOf(h.shop.tenant.id), [
    { ...unset, webauthn: 'attested' },
    attested,
    { ...known, unattested: 'named' },
    { ...any, unattested: 'named' },
  ])
  assert.deepEqual(workflowsOf(sandbox.tenant.id), WORKFLOWS)
  assert.deepEqual(workflowsOf(empty.tenant.id), [])

  await h.restart()
  assert.deepEqual(await bandsOf(h, 'unset'), ['key_not_attested', 'key_not_attested'])
  assert.deepEqual(await bandsOf(h, 'attested'), ['key_not_attested', 'key_not_attested'])
  assert.deepEqual(await bandsOf(h, 'known'), ['key_not_attested', 'high'])
  assert.deepEqual(await bandsOf(h, 'any'), ['low', 'high'])
})
