import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import type { CreatedSession } from '@bonded/contract'
import { migrate } from '../src/adapters/sql/migrate.ts'
import { harness } from './harness.ts'

const NUMBER = '+491701234567'

test('a phone number that an older program stored plain is gone with the next start, a sealed one stays', async () => {
  await using h = await harness()
  const created = () => h.create({ workflow: 'credit_application', phone_number: NUMBER })
  const [old, sealed] = [await created(), await created()]
  using database = new DatabaseSync(h.databaseFile)
  const numberOf = ({ id }: CreatedSession) => database.prepare('select phone_number from session where id = ?').get(id)?.phone_number
  const kept = numberOf(sealed)
  assert.ok(typeof kept === 'string' && !kept.includes(NUMBER.slice(1)))
  // As a program before step 7 left it.
  database.prepare('update session set phone_number = ? where id = ?').run(NUMBER, old.id)
  database.exec('delete from migration where number = 7')

  assert.deepEqual(migrate(h.databaseFile, 0), ['7 no phone number rests plain'])
  assert.deepEqual([numberOf(old), numberOf(sealed)], [null, kept])
})
