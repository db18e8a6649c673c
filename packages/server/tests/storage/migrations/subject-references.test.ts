import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { migrate } from '../../../../store/src/migrations/migrate.ts'
import { STEPS_FROM_24 } from '../../../../store/src/migrations/steps-from-24.ts'
import { harness } from '../../../../../tests/harness/harness.ts'

const STEP = STEPS_FROM_24.find(({ name }) => name === 'subjects by their reference')

test('takes a reference that two subjects have from both of them, and no other', async () => {
  await using h = await harness()
  using database = new DatabaseSync(h.databaseFile)
  database.exec(`drop index pairwise_subject_by_ref;
    alter table pairwise_subject drop column blocked_at;
    delete from migration where number = ${STEP?.number};
    insert into pairwise_subject (tenant_id, subject_id, subject_ref) values
      ('ten_a', 'sub_a', 'shared'), ('ten_a', 'sub_b', 'shared'), ('ten_a', 'sub_c', 'own'),
      ('ten_b', 'sub_a', 'shared')`)
  migrate(h.databaseFile, 0)
  const left = database
    .prepare(
      'select tenant_id, subject_id, subject_ref, blocked_at from pairwise_subject order by tenant_id',
    )
    .all()
  assert.deepEqual(
    left.map((row) => ({ ...row })),
    [
      { tenant_id: 'ten_a', subject_id: 'sub_c', subject_ref: 'own', blocked_at: null },
      { tenant_id: 'ten_b', subject_id: 'sub_a', subject_ref: 'shared', blocked_at: null },
    ],
  )
  const again = () =>
    database.exec(
      `insert into pairwise_subject (tenant_id, subject_id, subject_ref) values ('ten_a', 'sub_d', 'own')`,
    )
  assert.throws(again, /UNIQUE/)
})
