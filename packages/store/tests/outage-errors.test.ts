import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StoreError } from '@bonded/core/ports/store'
import { asStoreError as ofServer, classify } from '../src/postgres/postgres-errors.ts'
import { asStoreError as ofFile } from '../src/sqlite/sqlite-errors.ts'

/** By appendix A of the manual of PostgreSQL: what each code of the server means here. */
const BY_STATE = {
  '08000': ['lost', 'unreachable', 'the connection was lost'],
  '08006': ['lost', 'unreachable', 'the connection was lost'],
  '23505': ['conflict', 'locked', 'another node stored the same key'],
  '25006': ['outage', 'read_only', 'the server is read-only'],
  '25P03': ['lost', 'unreachable', 'the server ended an idle transaction'],
  '28000': ['outage', 'rejected', 'the server rejected the user or the password'],
  '28P01': ['outage', 'rejected', 'the server rejected the user or the password'],
  '3D000': ['outage', 'rejected', 'the database does not exist'],
  '40001': ['conflict', 'locked', 'another node changed the same rows'],
  '40P01': ['conflict', 'locked', 'another node changed the same rows'],
  '42501': ['outage', 'rejected', 'the user may not do that'],
  '53200': ['outage', 'busy', 'the server lacks resources'],
  '53300': ['outage', 'busy', 'the server lacks resources'],
  '53100': ['outage', 'full', 'the disk is full'],
  '55000': ['outage', 'read_only', 'the server is not a primary yet'],
  '55P03': ['conflict', 'locked', 'a lock was not free in time'],
  '57014': ['outage', 'busy', 'the server canceled the statement'],
  '57P01': ['lost', 'unreachable', 'the server stops or starts'],
  '58030': ['outage', 'input_output', 'the disk failed'],
  XX001: ['outage', 'damaged', 'the server found damaged data'],
} as const

const withCode = (code: string, others: object = {}) =>
  Object.assign(new Error(`failed with ${code}`), { code, ...others })

test('each failure of a server is an outage of its own kind, with its reason in the message', () => {
  for (const [code, [kind, failure, text]] of Object.entries(BY_STATE)) {
    const cause = withCode(code)
    assert.deepEqual(classify(cause), { kind, failure, text }, code)
    for (const to of ['open', 'read', 'write'] as const) {
      const error = ofServer(cause, { to, where: 'db.example/bonded' })
      assert.ok(error instanceof StoreError, code)
      assert.deepEqual(
        [error.message, error.kind, error.where, error.isServer, error.cause],
        [`the store refused to ${to}: ${text}`, failure, 'db.example/bonded', true, cause],
      )
    }
  }
})

test('a failed connection can run again, and a mistake of the program cannot', () => {
  for (const code of [
    'ECONNREFUSED',
    'ETIMEDOUT',
    'EPIPE',
    'ENOTFOUND',
    'ERR_TLS_CERT_ALTNAME_INVALID',
  ])
    assert.deepEqual(
      classify(withCode(code)),
      { kind: 'lost', failure: 'unreachable', text: 'it cannot be reached' },
      code,
    )
  for (const cause of ['text', undefined, withCode('23514'), withCode('ERR_INVALID_ARG_TYPE')])
    assert.equal(classify(cause).kind, 'defect')
  const outdated = withCode('0A000', { routine: 'RevalidateCachedQuery' })
  assert.deepEqual(classify(outdated), {
    kind: 'conflict',
    failure: 'locked',
    text: 'another program changed the schema',
  })
})

/** A word of the fix that the operator reads for each mistake of the setup. */
const SETUPS: readonly (readonly [Error, string])[] = [
  [
    withCode('ERR_TLS_CERT_ALTNAME_INVALID', { cert: { subjectaltname: 'DNS:a.example' } }),
    'its certificate names other hosts (DNS:a.example). Set BONDED_DATABASE_URL to the server by one of them, or give the server a certificate with the name in BONDED_DATABASE_URL.',
  ],
  [
    withCode('ERR_TLS_CERT_ALTNAME_INVALID', { cert: {} }),
    'its certificate names other hosts (none). Set BONDED_DATABASE_URL to the server by one of them, or give the server a certificate with the name in BONDED_DATABASE_URL.',
  ],
  ...[
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'SELF_SIGNED_CERT_IN_CHAIN',
    'UNABLE_TO_GET_ISSUER_CERT',
    'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  ].map(
    (code) =>
      [
        withCode(code),
        'this machine does not trust the authority of its certificate. Add sslrootcert=<file> to BONDED_DATABASE_URL, with the certificate of the authority.',
      ] as const,
  ),
  [
    withCode('CERT_HAS_EXPIRED'),
    'its certificate has expired. Renew it at the server, and reload the server.',
  ],
  [
    withCode('55000', { routine: 'CheckCmdReplicaIdentity' }),
    'a publication includes a table without a replica identity, from which it lets no row be deleted (failed with 55000). Give the table its primary key again: alter table <table> replica identity default. Or remove it from the publication.',
  ],
  ...['42P05', '26000'].map(
    (code) =>
      [
        withCode(code),
        'a pooler in front of it does not keep prepared statements. Set BONDED_DATABASE_PREPARED=off, or max_prepared_statements = 200 in PgBouncer 1.21 or later.',
      ] as const,
  ),
  [
    new Error('The server does not support SSL connections'),
    'it offers no TLS. Set ssl = on at the server, with a certificate. In a network that you trust, add sslmode=disable to BONDED_DATABASE_URL instead.',
  ],
]

test('a mistake in the setup of a server comes with its fix', () => {
  for (const [cause, fix] of SETUPS) {
    const error = ofServer(cause, { to: 'open', where: 'db.example/bonded' })
    assert.ok(error instanceof StoreError, fix)
    assert.deepEqual(
      [error.message, error.kind, error.where],
      [`db.example/bonded cannot be used: ${fix}`, 'unsuitable', 'db.example/bonded'],
    )
  }
  const known = new StoreError('known')
  assert.equal(ofServer(known, { to: 'read', where: 'x' }), known)
})

/** By the result codes of SQLite, also with their extensions in the higher bytes. */
const BY_RESULT: readonly (readonly [code: number, kind: string, text: string])[] = [
  [5, 'locked', 'another program holds the database locked'],
  [261, 'locked', 'another program holds the database locked'],
  [6, 'locked', 'another program holds the database locked'],
  [8, 'read_only', 'the database is read-only'],
  [1032, 'read_only', 'the database is read-only'],
  [10, 'input_output', 'the disk failed'],
  [266, 'input_output', 'the disk failed'],
  [11, 'damaged', 'the database is damaged'],
  [13, 'full', 'the disk is full'],
  [4874, 'full', 'the disk is full'],
  [14, 'cannot_open', 'the database cannot be opened'],
  [15, 'locked', 'another program holds the database locked'],
  [26, 'not_a_database', 'the file is not a database'],
]

test('each failure of a file is an outage of its own kind, with its reason in the message', () => {
  for (const [errcode, kind, text] of BY_RESULT) {
    const cause = Object.assign(new Error('sqlite'), { errcode })
    const error = ofFile(cause, { to: 'write', where: '/data/bonded.db' })
    assert.ok(error instanceof StoreError, String(errcode))
    assert.deepEqual(
      [error.message, error.kind, error.where, error.cause],
      [`the store refused to write: ${text}`, kind, '/data/bonded.db', cause],
    )
  }
  for (const errcode of [1, 19, 20, '5', undefined]) {
    const cause = Object.assign(new Error('sqlite'), { errcode })
    assert.equal(ofFile(cause, { to: 'read', where: 'x' }), cause, String(errcode))
  }
})
