import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { dirname } from 'node:path'
import { test } from 'node:test'
import { machine } from '../../../tests/harness/process.ts'
import { programOf } from '../program-of.ts'

/** Its round stops the database server and one of the nodes. */
const SEED = ['--seed', '2']
const PROVE = ['--rounds', '1', '--callers', '4', '--nodes', '2', ...SEED]
const debian = globSync('/usr/lib/postgresql/*/bin/postgres').toSorted().at(-1)
const skip = debian === undefined && 'no PostgreSQL of Debian: apt-get install postgresql'
if (skip !== false) console.warn(`LOUD: ${skip}: prove:durability is not run on PostgreSQL.`)

test('prove:durability finds nothing lost or invented on PostgreSQL', { skip }, () => {
  using m = machine({ program: programOf('durability') })
  const { ok, lost, invented, acknowledged, node_kills, server_stops } = m.json(
    ...PROVE,
    '--postgres-bin',
    dirname(debian ?? ''),
  )
  assert.deepEqual(
    { ok, lost, invented, node_kills, server_stops },
    { ok: true, lost: [], invented: [], node_kills: 1, server_stops: 1 },
  )
  assert.ok(acknowledged > 0)
})
