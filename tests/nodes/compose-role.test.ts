import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { startPostgres } from '../../packages/service/tests/harness/postgres.ts'

/** What control of the service must not give on the machine and the server of the database. */
const FORBIDDEN = [
  "copy migrated from program 'true'",
  "copy migrated to '/tmp/migrated'",
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
const hasPsql = spawnSync('psql', ['--version']).status === 0

test('the database of the compose file gives the service a role that owns its database only', {
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
      POSTGRES_PASSWORD: password,
    },
  })
  assert.deepEqual([ran.status, ran.stderr], [0, ''])
  const roles = await server.run(
    `select rolname, rolsuper or rolcreaterole or rolcreatedb or rolreplication as powers,
       rolpassword is null as locked from pg_authid where rolcanlogin order by rolname`,
  )
  assert.deepEqual(roles, [
    { rolname: 'bonded', powers: false, locked: false },
    { rolname: 'postgres', powers: true, locked: true },
  ])
  const own = `postgres://bonded@127.0.0.1:${server.port}/bonded`
  await server.run('create table migrated (id int)', own)
  for (const sql of FORBIDDEN)
    await assert.rejects(server.run(sql, own), /permission denied|is not allowed/, sql)
  for (const other of ['postgres', 'template1'])
    await assert.rejects(server.run('select 1', own.replace(/bonded$/, other)), /denied/, other)
})
