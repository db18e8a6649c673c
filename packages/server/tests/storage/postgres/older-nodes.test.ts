import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NODE_LEVEL } from '../../../../core/src/domain/node-level.ts'
import { noMeter } from '../../../../core/src/ports/meter.ts'
import { listNodes } from '../../../../core/src/operations/admin/list-nodes.ts'
import { rejectOlderNode } from '../../../../core/src/operations/admin/operator-error.ts'
import {
  admitNode,
  measureLevel,
  reportNodes,
} from '../../../../core/src/operations/maintenance/node-levels.ts'
import { harness } from '../../../../../tests/harness/harness.ts'
import { runSql } from '../../../../store/tests/servers/postgres.ts'

/** A level that no version has. */
const ARTIFICIAL = 1_000
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
  const levels = new Set((await listNodes(h.service)).map(({ level }) => level))
  assert.deepEqual(levels, new Set([1, 2]))
  await use(NODE_LEVEL)
  await assert.rejects(use(NODE_LEVEL + 1), OLDER)
  await sql(`update node_message set sent_at = sent_at - interval '11 seconds' where level = 1`)
  await use(NODE_LEVEL + 1)
})

test('a node that does not know a feature does not start from its first use on, and one that serves is named', async () => {
  await using h = await harness({ onPostgres: true })
  const { service } = h
  const { store } = service
  const admit = (level: number) =>
    store.write((tables) => tables.admitNode({ node: `level ${level}`, level }))
  const measured: boolean[] = []
  const measure = () =>
    measureLevel({
      store,
      meter: { ...noMeter, measuredLevel: (isOutdated) => measured.push(isOutdated) },
    })
  await runSql(h.databaseUrl ?? '', 'update used_level set level = 0')
  for (const level of [NODE_LEVEL, ARTIFICIAL]) {
    await runSql(h.databaseUrl ?? '', 'delete from node_message')
    assert.equal(await store.write((tables) => tables.claimLevel(level)), true)
    assert.equal(await admit(level - 1), false, `level ${level}`)
    assert.equal(await admit(level), true, `level ${level}`)
    await measure()
  }
  assert.deepEqual(measured, [false, true])
  // The node of this test was frozen, and goes on.
  await service.peers.exchange?.()
  await assert.rejects(reportNodes(service), {
    message: new RegExp(`ignore a feature that is in use: ${service.store.messages?.node}\\. `),
  })
  await assert.rejects(admitNode(service), { kind: 'unsuitable' })
})
