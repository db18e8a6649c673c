import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { test } from 'node:test'
import { machine } from '../../tests/harness/process.ts'
import { SEED } from '../../tests/random.ts'
import { Backend } from '../durability/quorum-backends.ts'
import { programOf } from './program-of.ts'

const LIAR = pathToFileURL(
  join(import.meta.dirname, '../../tests/harness/early-acknowledgment.ts'),
).href
const program = programOf('durability')
/** Enough for the planted fault, which loses every change of a round. */
const PROVE = ['--rounds', '2', '--callers', '6', '--seed', String(SEED)]

test('prove:durability finds nothing lost or invented on SQLite, cleans up, and ignores the settings of this machine', () => {
  using m = machine()
  const named = join(m.folder, 'production.db')
  writeFileSync(named, 'not to be opened')
  using operator = machine({
    program,
    env: { BONDED_DATABASE_URL: `sqlite:${named}`, BONDED_ENVIRONMENT: 'production' },
  })
  const { seed, rounds, node_kills, sessions, acknowledged, delivered, ok, lost, invented } =
    operator.json(...PROVE, '--folder', operator.folder)
  assert.deepEqual(
    { ok, seed, rounds, node_kills, lost, invented },
    {
      ok: true,
      seed: SEED,
      rounds: 2,
      node_kills: 2,
      lost: [],
      invented: [],
    },
  )
  assert.ok(sessions > 0 && acknowledged >= sessions && delivered > 0)
  assert.deepEqual(readdirSync(operator.folder), [])
  assert.equal(readFileSync(named, 'utf8'), 'not to be opened')
})

test('prove:durability detects a store that acknowledges before it commits', () => {
  using m = machine({ program, env: { NODE_OPTIONS: `--import=${LIAR}` } })
  const { status, stdout } = m.run(...PROVE, '--folder', m.folder, '--json')
  const { ok, error, lost, invented, folder } = JSON.parse(stdout)
  assert.equal(status, 1)
  assert.deepEqual([ok, error.code], [false, 'durability_violated'])
  assert.ok(lost.length > 0, 'acknowledged changes are missing')
  assert.ok(invented.length > 0, 'events were delivered that are missing')
  assert.ok(readdirSync(folder).includes('bonded.db'), 'the database remains as evidence')
})

test('prove:durability settles quorums, and runs each action as often as its people decided', () => {
  using m = machine({ program })
  // One of each kind: a refusal, two approvals in three ways, and a decision that is taken back.
  const flags = ['--quorums', '5', '--callers', '5', '--seed', String(SEED)]
  const { ok, ran, unknown, lost, invented } = m.json(...flags, '--folder', m.folder)
  assert.deepEqual({ ok, lost, invented }, { ok: true, lost: [], invented: [] })
  assert.ok(ran + unknown >= 3 && ran <= 4, `${ran} ran, ${unknown} unknown`)
})

test('a backend that has ended is not started again, so that a run that failed ends', async () => {
  const places = { databaseUrl: 'sqlite::memory:', ledger: '', credential: '' }
  const backend = new Backend({ ...places, origin: 'http://127.0.0.1:1', aheadMs: 0 }, () => [])
  await backend.end()
  await assert.rejects(backend.perform({ verb: 'reconcile' }), /has ended/)
})

test('prove:durability rejects options that cannot work', () => {
  using m = machine({ program })
  for (const [flags, message] of [
    [['--nodes', '2'], /a SQLite file serves one node/],
    [['--rounds', '0'], /whole number from 1 to 1000/],
    [['--callers', 'x'], /whole number from 1 to 256/],
    [['--database-url', 'sqlite:x.db'], /unknown option '--database-url'/],
  ] as const) {
    const { status, stderr } = m.run(...flags)
    assert.deepEqual([status, message.test(stderr)], [2, true], stderr)
  }
})

test('prove:durability deletes its folder when PostgreSQL cannot start', () => {
  using m = machine({ program })
  const { status, stderr } = m.run('--folder', m.folder, '--postgres-bin', join(m.folder, 'none'))
  assert.deepEqual([status, /initdb failed/.test(stderr)], [1, true], stderr)
  assert.deepEqual(readdirSync(m.folder), [])
})
