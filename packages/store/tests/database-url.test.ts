import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { parseDatabaseUrl } from '../src/postgres/server/database-url.ts'
import { ConfigError, readConfig } from '../../server/src/settings/config.ts'

const VERIFIED = { rejectUnauthorized: true }
const folder = mkdtempSync(join(tmpdir(), 'bonded-database-url-'))
after(() => rmSync(folder, { recursive: true }))
/** The connection reads what is between the lines. */
const ca = '-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n'
const [AUTHORITY, EMPTY] = [join(folder, 'ca.pem'), join(folder, 'empty.pem')]
writeFileSync(AUTHORITY, ca)
writeFileSync(EMPTY, '')
const TRUSTED = { ...VERIFIED, ca }

/** Each URL with whether the connection is encrypted; undefined where the URL is rejected. */
const URLS: readonly (readonly [url: string, tls: false | object | undefined])[] = [
  ['postgres://bonded:x@db.example:6432/bonded', VERIFIED],
  ['postgresql://bonded@10.0.0.7/bonded', VERIFIED],
  ['postgres://bonded@db.example/bonded?sslmode=verify-full', VERIFIED],
  ['postgres://bonded@db.example/bonded?sslmode=disable', false],
  ['postgres://bonded@localhost/bonded', false],
  ['postgres://bonded@127.0.0.1/bonded', false],
  ['postgres://bonded@[::1]/bonded', false],
  ['postgres://bonded@localhost/bonded?sslmode=verify-full', VERIFIED],
  // An operator who names an authority wants TLS, on every address.
  [`postgres://bonded@localhost/bonded?sslrootcert=${AUTHORITY}`, TRUSTED],
  [`postgres://bonded@[::1]/bonded?sslrootcert=${AUTHORITY}`, TRUSTED],
  [`postgres://bonded@db.example/bonded?sslrootcert=${AUTHORITY}`, TRUSTED],
  [`postgres://bonded@db.example/bonded?sslmode=disable&sslrootcert=${AUTHORITY}`, undefined],
  ['postgres://bonded@localhost/bonded?sslrootcert=', undefined],
  // Without a certificate in the file, Node would trust its own list.
  [`postgres://bonded@db.example/bonded?sslrootcert=${EMPTY}`, undefined],
  [`postgres://bonded@db.example/bonded?sslrootcert=${folder}`, undefined],
  ['postgres://bonded@localhost/bonded?sslcert=client.pem&sslkey=client.key', undefined],
  ['postgres://bonded@localhost.example/bonded', VERIFIED],
  ['postgres://bonded@127.0.0.1.example/bonded', VERIFIED],
  ['postgres://bonded:x@db-1.example,db-2.example:6432/bonded', VERIFIED],
  ['postgres://bonded@localhost,db.example/bonded', VERIFIED],
  ['postgres://bonded@localhost:5432,127.0.0.1:5433/bonded?target_session_attrs=read-write', false],
  ['postgres://bonded@db-1,db-2/bonded?target_session_attrs=any', undefined],
  ['postgres://bonded@db-1,/bonded', undefined],
  ['postgres://bonded@db-1,db-2:70000/bonded', undefined],
  // Encryption without verification does not stop an attacker who can redirect the connection.
  ['postgres://bonded@db.example/bonded?sslmode=require', undefined],
  ['postgres://bonded@db.example/bonded?sslmode=prefer', undefined],
  ['postgres://bonded@db.example/bonded?sslmode=no-verify', undefined],
  ['postgres://bonded@db.example/bonded?ssl=false', undefined],
  ['postgres://bonded@db.example/bonded?options=-csynchronous_commit=off', undefined],
  ['postgres://bonded@db.example/bonded?sslrootcert=/no/such/file', undefined],
  ['postgres:///bonded?host=/var/run/postgresql', undefined],
  ['postgres://bonded@db.example/', undefined],
  ['postgres://db.example/bonded', undefined],
  ['postgres://bonded:%zz@db.example/bonded', undefined],
  ['mysql://bonded@db.example/bonded', undefined],
]

for (const [url, tls] of URLS)
  test(`${url} is ${tls === undefined ? 'rejected' : tls === false ? 'not encrypted' : 'encrypted and verified'}`, () => {
    assert.deepEqual(parseDatabaseUrl(url, {})?.tls, tls)
  })

const LOCAL = 'postgres://bonded@localhost/bonded'

/** Each environment of libpq with whether the connection is encrypted, where the URL is silent. */
const ENVIRONMENTS: readonly (readonly [NodeJS.ProcessEnv, tls: false | object | undefined])[] = [
  [{ PGSSLMODE: 'verify-full' }, VERIFIED],
  [{ PGSSLROOTCERT: AUTHORITY }, TRUSTED],
  [{ PGSSLMODE: 'disable' }, false],
  [{ PGSSLMODE: 'require' }, undefined],
  [{ PGSSLROOTCERT: '/no/such/file' }, undefined],
]

for (const [env, tls] of ENVIRONMENTS)
  test(`${JSON.stringify(env)} means the same as the parameter of the URL`, () => {
    assert.deepEqual(parseDatabaseUrl(LOCAL, env)?.tls, tls)
  })

test('a parameter of the URL overrides the environment of libpq', () => {
  const env = { PGSSLMODE: 'disable', PGSSLROOTCERT: '/no/such/file' }
  const url = `${LOCAL}?sslmode=verify-full&sslrootcert=${AUTHORITY}`
  assert.deepEqual(parseDatabaseUrl(url, env)?.tls, TRUSTED)
})

test('an encoded password is decoded, and no message shows it', () => {
  const address = parseDatabaseUrl('postgres://bonded:p%40ss%2Fword@db.example/bonded')
  assert.equal(address?.password, 'p@ss/word')
  assert.equal(address?.shown, 'PostgreSQL database bonded at db.example:5432')
})

test('the servers of a URL are tried in its order', () => {
  const address = parseDatabaseUrl('postgres://bonded:a,b@db-1:6432,[::1],db-3/bonded')
  assert.deepEqual(address?.hosts, [
    { host: 'db-1', port: 6432 },
    { host: '::1', port: 5432 },
    { host: 'db-3', port: 5432 },
  ])
  assert.equal(address?.password, 'a,b')
  assert.equal(address?.shown, 'PostgreSQL database bonded at db-1:6432,::1:5432,db-3:5432')
})

test('the report of an invalid URL does not show its password', () => {
  for (const url of [
    'postgres://bonded:hunter2@db.example/bonded?sslmode=require',
    'postgres://bonded:p@hunter2/x@db.example/bonded?sslmode=require',
    'postgres://bonded@db.example/bonded?user=x&password=hunter2',
  ])
    assert.throws(
      () => readConfig({ BONDED_DATABASE_URL: url }),
      (failure) => {
        assert.ok(failure instanceof ConfigError)
        assert.match(failure.message, /BONDED_DATABASE_URL/)
        assert.doesNotMatch(failure.message, /hunter2/)
        return true
      },
    )
})

test('the report of a valid URL with a wrong variable of libpq names the variables', (t) => {
  const { PGSSLMODE } = process.env
  t.after(() => {
    if (PGSSLMODE === undefined) delete process.env['PGSSLMODE']
    else process.env['PGSSLMODE'] = PGSSLMODE
  })
  process.env['PGSSLMODE'] = 'prefer'
  const mistaken = {
    message: /:\n {2}PGSSLMODE or PGSSLROOTCERT: [^\n]*disable or verify-full[^\n]*$/,
  }
  for (const url of ['postgres://bonded@db.example/bonded', LOCAL])
    assert.throws(() => readConfig({ BONDED_DATABASE_URL: url }), mistaken)
})
