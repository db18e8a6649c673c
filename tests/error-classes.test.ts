import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { Malformed } from '../packages/attestation/src/asn1/tlv.ts'
import { NotRun } from '../packages/cli/src/agent/not-run.ts'
import { OutputError } from '../packages/cli/src/program/output.ts'
import { SettingsFileError } from '../packages/cli/src/program/settings-file-error.ts'
import { SignInError } from '../packages/console/src/provider.ts'
import { NotCanonicalError } from '../packages/contract/src/json/canonical.ts'
import { MissingTile } from '../packages/core/src/domain/merkle.ts'
import { RootKeyError } from '../packages/core/src/domain/root-keys.ts'
import { OperatorError } from '../packages/core/src/operations/admin/operator-error.ts'
import { UnitRejected } from '../packages/core/src/operations/device/browser-key.ts'
import { CheckpointError, LogRefused } from '../packages/core/src/ports/kept-checkpoint.ts'
import { IdKeyError } from '../packages/core/src/ports/keyring.ts'
import { SignerError } from '../packages/core/src/ports/signer.ts'
import { StoreError } from '../packages/core/src/ports/store.ts'
import { WitnessError } from '../packages/core/src/ports/witness.ts'
import { ApprovalError, NotStarted } from '../packages/integrator/src/approval/errors.ts'
import { GateError } from '../packages/integrator/src/errors.ts'
import { PhoneError } from '../packages/phone/src/errors.ts'
import { StorageFailure } from '../packages/phone-page/src/device-store.ts'
import { PortalFailure } from '../packages/phone-page/src/portal/service.ts'
import { PassportTrustError } from '../packages/server/src/adapters/attestation/passport/passport-trust.ts'
import { ProgramError } from '../packages/server/src/adapters/programs/program.ts'
import { ReceiptKeyError } from '../packages/server/src/adapters/signer/receipt-keys.ts'
import { Rejected } from '../packages/server/src/http/response/rejected.ts'
import { ConfigError } from '../packages/server/src/settings/config.ts'
import { BackupError } from '../packages/store/src/backup/manifest.ts'
import { MigrationError } from '../packages/store/src/migrations/migrate.ts'
import { ClosedConnection } from '../packages/store/src/postgres/postgres-errors.ts'
import { BatchError } from '../packages/store/src/postgres/server/batch.ts'
import { StandbyError } from '../packages/store/src/postgres/server/servers.ts'
import { OutcomeUnknown } from '../packages/store/src/postgres/transaction.ts'
import { StoreInUse } from '../packages/store/src/sqlite/serving-lock.ts'
import { PulseLoadError } from '../packages/widget/src/npm/load-error.ts'
import { PulseError } from '../packages/widget/src/pulse-error.ts'

const ROOT = resolve(import.meta.dirname, '..')
const SAYS = 'The disk is full.'
const cause = new Error('ENOSPC')
const because = { cause }

/** An error of each class, and the members by which a caller explains it and branches on it. */
const ERRORS: Readonly<Record<string, readonly [error: Error, members: object]>> = {
  Malformed: [new Malformed(SAYS, because), { message: SAYS, cause }],
  NotRun: [
    new NotRun('not_run', SAYS, because),
    { name: 'NotRun', code: 'not_run', message: `${SAYS} The command did not run.`, cause },
  ],
  OutputError: [
    new OutputError(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' })),
    {
      code: 'output_lost',
      message:
        'The output was cut off: write EPIPE. Usually its disk is full. What the command changed is stored. Discard what was written, and print it again elsewhere',
      isUnread: true,
    },
  ],
  SettingsFileError: [
    new SettingsFileError(SAYS, because),
    { name: 'SettingsFileError', message: SAYS, cause },
  ],
  SignInError: [
    new SignInError('token_rejected', { cause, subject: 'ada', detail: SAYS }),
    // The provider's sentence is for the page; the log has the code.
    {
      name: 'SignInError',
      code: 'token_rejected',
      message: 'token_rejected',
      subject: 'ada',
      detail: SAYS,
      cause,
    },
  ],
  NotCanonicalError: [
    new NotCanonicalError(SAYS, because),
    { code: 'not_canonical', message: SAYS, cause },
  ],
  OperatorError: [
    new OperatorError(SAYS, { code: 'output_lost', cause }),
    { name: 'OperatorError', code: 'output_lost', message: SAYS, cause },
  ],
  // A rejection has its sentence in the list of reasons.
  UnitRejected: [
    new UnitRejected({ reason: 'too_many_keys' }),
    { message: 'too_many_keys', rejection: { reason: 'too_many_keys' } },
  ],
  Rejected: [
    new Rejected({ reason: 'too_many_keys' }),
    { message: 'too_many_keys', rejection: { reason: 'too_many_keys' } },
  ],
  WitnessError: [
    new WitnessError(SAYS, because),
    { name: 'WitnessError', code: 'witnesses_failed', message: SAYS, cause },
  ],
  CheckpointError: [
    new CheckpointError(SAYS, because),
    { name: 'CheckpointError', code: 'checkpoint_unavailable', message: SAYS, cause },
  ],
  LogRefused: [
    new LogRefused(SAYS, because),
    { name: 'LogRefused', code: 'receipt_log_refused', message: SAYS, cause },
  ],
  StoreError: [
    new StoreError(SAYS, { kind: 'unsuitable', where: 'db:5432', isServer: true, cause }),
    {
      name: 'StoreError',
      code: 'store_unavailable',
      message: SAYS,
      kind: 'unsuitable',
      where: 'db:5432',
      isServer: true,
      cause,
    },
  ],
  StandbyError: [
    new StandbyError(SAYS, { kind: 'unsuitable', where: 'db:5432', cause }),
    { code: 'store_unavailable', message: SAYS, kind: 'unsuitable', where: 'db:5432', cause },
  ],
  IdKeyError: [
    new IdKeyError('wrong_key', ['k1', 'k2']),
    {
      name: 'IdKeyError',
      code: 'session_id_key_unusable',
      message: 'the key of session ids cannot be opened: wrong_key k1, k2',
      problem: 'wrong_key',
      rootKeyIds: ['k1', 'k2'],
    },
  ],
  SignerError: [
    new SignerError(SAYS, because),
    { name: 'SignerError', code: 'signer_unavailable', message: SAYS, cause },
  ],
  RootKeyError: [
    new RootKeyError(SAYS, { file: 'keys' }),
    { name: 'RootKeyError', code: 'root_keys_invalid', message: SAYS, source: { file: 'keys' } },
  ],
  MissingTile: [
    new MissingTile(SAYS, because),
    { name: 'MissingTile', code: 'tile_missing', message: SAYS, cause },
  ],
  ApprovalError: [
    new ApprovalError('not_approved', SAYS, { reasons: ['declined'], cause }),
    {
      name: 'ApprovalError',
      code: 'not_approved',
      message: SAYS,
      reasons: ['declined'],
      cause,
    },
  ],
  NotStarted: [new NotStarted(SAYS, because), { name: 'NotStarted', message: SAYS, cause }],
  GateError: [
    new GateError('rate_limited', SAYS, {
      reason: 'inbox_full',
      param: 'subject_ref',
      docUrl: '/reasons#inbox_full',
      requestId: 'req_1',
      retryAfterMs: 1_000,
      reportedAt: '2026-11-21T09:30:00.000Z',
      address: 'https://bond.example',
      cause,
    }),
    {
      name: 'GateError',
      code: 'rate_limited',
      message: SAYS,
      reason: 'inbox_full',
      param: 'subject_ref',
      docUrl: '/reasons#inbox_full',
      requestId: 'req_1',
      retryAfterMs: 1_000,
      reportedAt: '2026-11-21T09:30:00.000Z',
      address: 'https://bond.example',
      cause,
    },
  ],
  PhoneError: [
    new PhoneError('refused', {
      reason: 'evidence_expired',
      status: 400,
      request_id: 'req_1',
      server_time: '2026-11-21T09:30:00.000Z',
      retry_after_ms: 1_000,
      cause,
    }),
    {
      name: 'PhoneError',
      code: 'refused',
      message: 'refused: evidence_expired (HTTP 400)',
      reason: 'evidence_expired',
      status: 400,
      request_id: 'req_1',
      server_time: '2026-11-21T09:30:00.000Z',
      retry_after_ms: 1_000,
      cause,
    },
  ],
  StorageFailure: [new StorageFailure(SAYS, because), { message: SAYS, cause }],
  PortalFailure: [new PortalFailure(SAYS, { isFinal: true }), { message: SAYS, isFinal: true }],
  PassportTrustError: [
    new PassportTrustError(['cert.pem has expired']),
    {
      name: 'PassportTrustError',
      message: 'The certificates for passports cannot be used:\n  cert.pem has expired.',
    },
  ],
  ProgramError: [
    new ProgramError(SAYS, { printed: 'no key', cause }),
    { name: 'ProgramError', message: SAYS, printed: 'no key', cause },
  ],
  ReceiptKeyError: [
    new ReceiptKeyError(SAYS, because),
    { name: 'ReceiptKeyError', code: 'receipt_keys_invalid', message: SAYS, cause },
  ],
  ConfigError: [
    new ConfigError([{ setting: 'BONDED_PORT', value: '-1', expected: 'a port' }]),
    {
      name: 'ConfigError',
      code: 'config_invalid',
      message: 'The configuration is invalid:\n  BONDED_PORT: -1. Expected a port.',
      mistakes: [{ setting: 'BONDED_PORT', value: '-1', expected: 'a port' }],
    },
  ],
  BackupError: [
    new BackupError(SAYS, because),
    { name: 'BackupError', code: 'backup_invalid', message: SAYS, cause },
  ],
  MigrationError: [
    new MigrationError(SAYS, because),
    { name: 'MigrationError', code: 'migration_mismatch', message: SAYS, cause },
  ],
  ClosedConnection: [
    new ClosedConnection(SAYS, because),
    // The SQLSTATE of a connection that failed.
    { name: 'ClosedConnection', code: '08006', message: SAYS, cause },
  ],
  BatchError: [
    new BatchError(cause, true),
    { name: 'BatchError', message: 'the batch failed', mayBeCommitted: true, cause },
  ],
  OutcomeUnknown: [new OutcomeUnknown(SAYS, because), { message: SAYS, cause }],
  StoreInUse: [
    new StoreInUse('bonded.db'),
    {
      name: 'StoreInUse',
      code: 'store_in_use',
      message: 'another service works on bonded.db',
      file: 'bonded.db',
    },
  ],
  PulseLoadError: [
    new PulseLoadError('no_document', SAYS),
    { name: 'PulseLoadError', code: 'no_document', message: SAYS, cause: undefined },
  ],
  PulseError: [
    new PulseError('action_invalid', SAYS),
    { name: 'PulseError', code: 'action_invalid', message: SAYS, cause: undefined },
  ],
}

/** The error classes that a module of a package exports. */
function exportedErrors(): readonly string[] {
  return globSync('packages/*/src/**/*.ts', { cwd: ROOT }).flatMap((file) =>
    [
      ...readFileSync(resolve(ROOT, file), 'utf8').matchAll(
        /^export class (\w+) extends \w*Error\b/gm,
      ),
    ].map(([, name = '']) => name),
  )
}

test('has an error of every class that a package exports', () => {
  assert.deepEqual(exportedErrors().toSorted(), Object.keys(ERRORS).toSorted())
})

for (const [name, [error, members]] of Object.entries(ERRORS))
  test(`${name} has its sentence as the message, and its code, cause, and facts`, () => {
    const found = Object.keys(members).map((key) => [key, Reflect.get(error, key)])
    assert.deepEqual(Object.fromEntries(found), members)
    assert.ok(error.stack?.includes(error.message))
  })
