import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import type { CreatedSession } from '@bonded/contract'
import { migrate } from '../../../src/adapters/sql/migrate.ts'
import { IDEMPOTENCY_KEY_TTL_MS } from '../../../src/domain/lifetimes.ts'
import { purgeSessions } from '../../../src/operations/purge-sessions.ts'
import { harness } from '../../harness/harness.ts'

const NUMBER = '+491701234567'

test('deletes unsealed phone numbers at the next start and keeps sealed ones', async () => {
  await using h = await harness()
  const created = () => h.create({ workflow: 'credit_application', phone_number: NUMBER })
  const [old, sealed] = [await created(), await created()]
  using database = new DatabaseSync(h.databaseFile)
  const numberOf = ({ id }: CreatedSession) =>
    database.prepare('select phone_number from session where id = ?').get(id)?.phone_number
  const kept = numberOf(sealed)
  assert.ok(typeof kept === 'string' && !kept.includes(NUMBER.slice(1)))
  // The state of a database without step 7.
  database.prepare('update session set phone_number = ? where id = ?').run(NUMBER, old.id)
  database.exec('delete from migration where number = 7')

  assert.deepEqual(migrate(h.databaseFile, 0), ['7 no phone number rests plain'])
  assert.deepEqual([numberOf(old), numberOf(sealed)], [null, kept])
})

test('purges an Idempotency-Key from an older version by the age of its session', async () => {
  await using h = await harness()
  const create = async (key: string) =>
    (
      await h.api('POST', '/sessions', {
        token: h.shop.server,
        headers: { 'idempotency-key': key },
        body: { workflow: 'credit_application' },
      })
    ).body
  const ended = await create('ended')
  await h.kill(ended)
  h.clock.advance(1)
  await create('live')
  using database = new DatabaseSync(h.databaseFile)
  // The state of a database without step 9.
  database.exec(
    'drop index idempotency_by_session; alter table idempotency drop column session_began_at',
  )
  database.exec(
    'create index idempotency_by_session on idempotency (session_id); delete from migration where number = 9',
  )

  assert.deepEqual(migrate(h.databaseFile, 0), [
    '9 Idempotency-Keys lie by when their session began',
  ])
  h.clock.advance(IDEMPOTENCY_KEY_TTL_MS - 1)
  await purgeSessions(h.service)
  const keys = database.prepare('select idempotency_key from idempotency').all()
  assert.deepEqual(
    keys.map(({ idempotency_key: key }) => key),
    ['live'],
  )
})
