import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NODE_LEVEL } from '../../../../core/src/domain/node-level.ts'
import { listNodes } from '../../../../core/src/operations/admin/list-nodes.ts'
import { rejectOlderNode } from '../../../../core/src/operations/admin/operator-error.ts'
import { harness } from '../../../../../tests/harness/harness.ts'
import { runSql } from '../../../../store/tests/servers/postgres.ts'

const OLDER = {
  code: 'conflict',
  message: /older version serves, and would ignore the artificial feature/,
}

test('a feature of the next level waits until no node of this one has served for 10 seconds', async () => {
  await using h = await harness({ onPostgres: true })
  const use = (level: number) =>
    h.service.store.write((tables) =>
      rejectOlderNode(tables, { level, feature: 'artificial feature' }),
    )
  const sql = (text: string) => runSql(h.databaseUrl ?? '', text)
  await h.service.peers.exchange?.()
  await sql(`insert into node_message (node, number, text, level)
    values ('next', 1, 'x', ${NODE_LEVEL + 1})`)
  const levels = (await listNodes(h.service)).map(({ level }) => level)
  assert.deepEqual(levels.toSorted(), [1, 2])
  await use(NODE_LEVEL)
  await assert.rejects(use(NODE_LEVEL + 1), OLDER)
  await sql(`update node_message set sent_at = sent_at - interval '11 seconds' where level = 1`)
  await use(NODE_LEVEL + 1)
})
