import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { startPostgres } from '../../packages/store/tests/servers/postgres.ts'
import { CREATE_TENANT, machine } from '../harness/process.ts'

/** What control of the service must not give on the machine and the server of the database. */
const FORBIDDEN = [
  "copy session_id_key from program 'true'",
  "copy session_id_key to '/tmp/migrated'",
  "select pg_read_file('PG_VERSION')",
  "select pg_ls_dir('.')",
  'select rolpassword from pg_authid',
  'create role other login',
  'alter role bonded superuser',
  'set role postgres',
  'grant pg_execute_server_program to bonded',
  'create database other',
  'alter system set archive_mode = on',
  'set session_preload_libraries = bonded',
  "load '/tmp/library'",
  "create function f() returns int language c as '/tmp/library'",
  'create extension file_fdw',
] as const

const SCRIPT = resolve(import.meta.dirname, '../../deploy/postgres-role.sh')
const COMPOSE = resolve(import.meta.dirname, '../../deploy/compose.yaml')
const { services } = parse(readFileSync(COMPOSE, 'utf8'))
const hasPsql = spawnSync('psql', ['--version']).status === 0

test('the database of the compose file has a role that owns it, and one that changes rows only', {
  skip: !hasPsql && 'no psql (apt-get install postgresql-client)',
}, async () => {
  await using server = await startPostgres()
  const password = "it's 'quoted'"
  const ran = spawnSync('sh', [SCRIPT], {
    encoding: 'utf8',
    env: {
      PATH: process.env.PATH,
      PGHOST: '127.0.0.1',
      PGPORT: String(server.port),
      POSTGRES_PASSWORD: `${password} of the owner`,
      BONDED_RUNTIME_PASSWORD: password,
    },
  })
  assert.deepEqual([ran.status, ran.stderr], [0, ''])
  const roles = await server.run(
    `select rolname, rolsuper or rolcreaterole or rolcreatedb or rolreplication as powers,
       rolpassword is null as locked from pg_authid where rolcanlogin order by rolname`,
  )
  assert.deepEqual(roles, [
    { rolname: 'bonded', powers: false, locked: false },
    { rolname: 'bonded_owner', powers: false, locked: false },
    { rolname: 'postgres', powers: true, locked: true },
  ])
  const urlOf = (role: string) => `postgres://${role}@127.0.0.1:${server.port}/bonded`
  using owner = machine({ env: { BONDED_DATABASE_URL: urlOf('bonded_owner') } })
  const { command } = services.migrate as { command: readonly string[] }
  assert.equal(owner.run(...command).status, 0)
  using node = machine({ env: { BONDED_DATABASE_URL: urlOf('bonded') } })
  node.json(...CREATE_TENANT)
  const denied = /permission denied|is not allowed|must be able/
  for (const role of ['bonded', 'bonded_owner']) {
    for (const sql of FORBIDDEN)
      await assert.rejects(server.run(sql, urlOf(role)), denied, `${role}: ${sql}`)
    for (const other of ['postgres', 'template1'])
      await assert.rejects(
        server.run('select 1', urlOf(role).replace(/bonded$/, other)),
        /denied/,
        `${role} in ${other}`,
      )
  }
  await assert.rejects(server.run('drop table session', urlOf('bonded')), /must be owner/)
  await assert.rejects(server.run('create table other (id int)', urlOf('bonded')), denied)
})
