import { join } from 'node:path'
import { test } from 'node:test'
import { StoreError, type StoreFailure } from '@bonded/core/ports/store'
import { IdKeyError } from '@bonded/core/ports/keyring'
import { OperatorError } from '@bonded/core/operations/admin/operator-error'
import { RootKeyError } from '@bonded/core/domain/root-keys'
import { ReceiptKeyError } from '@bonded/server/adapters/signer/receipt-keys'
import { MigrationError } from '@bonded/store/migrations/migrate'
import { StoreInUse } from '@bonded/store/sqlite/serving-lock'
import { BackupError } from '@bonded/store/backup/manifest'
import { ConfigError } from '@bonded/server/settings/config'
import { assertText } from '../../../../tests/harness/expected-text.ts'
import { NotRun } from '../../src/agent/not-run.ts'
import { explain } from '../../src/program/explain.ts'
import { exitCodeOf } from '../../src/program/exit-codes.ts'
import { OutputError } from '../../src/program/output.ts'
import { SettingsFileError } from '../../src/program/settings-file-error.ts'

const FOLDER = join(import.meta.dirname, '../printed')
const KINDS: readonly StoreFailure[] = [
  'full',
  'locked',
  'read_only',
  'cannot_open',
  'not_a_database',
  'damaged',
  'input_output',
  'unreachable',
  'busy',
  'rejected',
  'unsuitable',
  'not_migrated',
]

const line = (what: string, failure: unknown) => {
  const { code, message, usage } = explain(failure)
  return `${what}: ${code}, exit ${exitCodeOf({ code, usage })}\n  ${message}`
}

test('each failure of a database is explained with its code, its place and its remedy', () => {
  const cause = new Error('detail of the cause')
  const lines = KINDS.flatMap((kind) => [
    line(kind, new StoreError('message', { kind, where: '/data/bonded.db', cause })),
    line(
      `${kind} of a server`,
      new StoreError('message', { kind, where: 'bonded at db.example', isServer: true, cause }),
    ),
  ])
  const unknown = new StoreError('a message alone', { cause })
  const nowhere = new StoreError('message', { kind: 'busy' })
  lines.push(line('unknown', unknown), line('nowhere', nowhere))
  assertText(join(FOLDER, 'explained-store.txt'), lines.join('\n'))
})

test('each failure of a command is explained with its code and its remedy', () => {
  const system = (code: string, more: object = {}) =>
    Object.assign(new Error(`${code}: failed`), { code, ...more })
  const idKey = (problem: 'wrong_key' | 'not_listed') => new IdKeyError(problem, ['k1', 'k2'])
  const lines = [
    line('operator', new OperatorError('No tenant ten_1', { code: 'not_found' })),
    line('operator with an end', new OperatorError('Is it one?')),
    line('hidden', new OperatorError('a\u202eb\nc\u001b')),
    line('settings', new ConfigError([{ setting: 'A', value: 'b', expected: 'c' }])),
    line('settings file', new SettingsFileError('x.yaml is invalid')),
    line('root keys', new RootKeyError('is short')),
    line('root key of a file', new RootKeyError('is short', { file: '/d/root.key' })),
    line('root keys of a program', new RootKeyError('ended with 1', { command: '/bin/keys' })),
    line('wrong root key', idKey('wrong_key')),
    line('root key that is not listed', idKey('not_listed')),
    line('receipt key', new ReceiptKeyError('it is short')),
    line('migration', new MigrationError('The schema is 7')),
    line('in use', new StoreInUse('/d/bonded.db')),
    line('backup', new BackupError('It is no backup.')),
    line('not run', new NotRun('approval_declined', 'The user declined on the phone.')),
    line('expired', new NotRun('approval_expired', 'Too late.')),
    line('not run otherwise', new NotRun('not_run', 'Else.')),
    line('lost', new OutputError(system('ENOSPC'))),
    ...['EADDRINUSE', 'EACCES', 'EADDRNOTAVAIL', 'ENOTFOUND'].map((code) =>
      line(`listen ${code}`, system(code, { syscall: 'listen', port: 80, address: '203.0.113.1' })),
    ),
    ...['8788', '8789'].map((port) =>
      line(`listen ${port}`, system('EADDRINUSE', { syscall: 'listen', port: Number(port) })),
    ),
    ...['EISDIR', 'ENOTDIR', 'EEXIST', 'ENOENT', 'ENOSPC', 'EDQUOT'].flatMap((code) => [
      line(code, system(code, { path: '/no-such-file' })),
      line(`${code} without a path`, system(code)),
    ]),
  ]
  assertText(join(FOLDER, 'explained.txt'), lines.join('\n'))
})
