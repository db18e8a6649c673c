import { escapeHidden } from '@bonded/contract'
import { BackupError } from '@bonded/store/backup/manifest'
import { RootKeyError } from '@bonded/core/domain/root-keys'
import { ReceiptKeyError } from '@bonded/server/adapters/signer/receipt-keys'
import { PassportTrustError } from '@bonded/server/adapters/attestation/passport/passport-trust'
import { MigrationError } from '@bonded/store/migrations/migrate'
import { StoreInUse } from '@bonded/store/sqlite/serving-lock'
import { ConfigError } from '@bonded/server/settings/config'
import { OperatorError } from '@bonded/core/operations/admin/operator-error'
import { IdKeyError } from '@bonded/core/ports/keyring'
import { StoreError, type StoreFailure } from '@bonded/core/ports/store'
import { NotRun } from '../agent/not-run.ts'
import { explainStore } from './explain-store.ts'
import { explainSystem } from './explain-system.ts'
import { SettingsFileError } from './settings-file-error.ts'

/** A failure for the terminal and for `--json`. */
export interface Explained {
  /** What a script branches on. */
  readonly code: string
  /** What happened, the likely cause, and what to do. */
  readonly message: string
  /** Whether the command or the configuration is wrong (exit 2), rather than rejected (exit 1). */
  readonly usage: boolean
}

const DATABASE_CODES: Readonly<Record<StoreFailure, string>> = {
  full: 'disk_full',
  locked: 'database_locked',
  read_only: 'database_read_only',
  cannot_open: 'database_cannot_open',
  not_a_database: 'not_a_database',
  damaged: 'database_damaged',
  input_output: 'database_io_error',
  unreachable: 'database_unreachable',
  busy: 'database_busy',
  rejected: 'database_access_denied',
  unsuitable: 'database_unsuitable',
  not_migrated: 'database_not_migrated',
}

/**
 * Explains a failure to the operator. A defect of this program keeps its stack. The message can
 * quote stored text and arguments, so its hidden characters are escaped for the terminal.
 */
export function explain(failure: unknown): Explained {
  const { message, ...explained } = explainRaw(failure)
  return { ...explained, message: message.split('\n').map(escapeHidden).join('\n') }
}

function explainRaw(failure: unknown): Explained {
  if (
    failure instanceof ConfigError ||
    failure instanceof PassportTrustError ||
    failure instanceof SettingsFileError
  )
    return { code: 'configuration_invalid', message: failure.message, usage: true }
  if (failure instanceof RootKeyError)
    return {
      code: 'root_key_invalid',
      message: explainRootKeys(failure),
      usage: failure.source === undefined,
    }
  // A configured file is checked with the other settings. This is the one of a sandbox.
  if (failure instanceof ReceiptKeyError)
    return {
      code: failure.code,
      message: `The file receipt.key in the data folder is not usable: ${failure.message}. Restore it from a backup. Without a backup, delete it: the next start generates a new key, and earlier receipts no longer verify.`,
      usage: false,
    }
  if (failure instanceof IdKeyError)
    return { code: failure.code, message: explainIdKey(failure), usage: true }
  return { ...explainFailure(failure), usage: false }
}

function explainFailure(failure: unknown): { code: string; message: string } {
  if (failure instanceof OperatorError)
    return { code: failure.code, message: asSentence(failure.message) }
  if (failure instanceof BackupError || failure instanceof NotRun)
    return { code: failure.code, message: failure.message }
  if (failure instanceof MigrationError)
    return {
      code: 'schema_mismatch',
      message: `${asSentence(failure.message)} Nothing was changed. Run the version of bonded that created the database, or set BONDED_DATABASE_URL to another file.`,
    }
  if (failure instanceof StoreInUse)
    return {
      code: 'database_in_use',
      message: `Another bonded serve or bonded dev is running on ${failure.file}. Stop it first, or set BONDED_DATABASE_URL to another file.`,
    }
  if (failure instanceof StoreError)
    return {
      code: failure.kind === undefined ? failure.code : DATABASE_CODES[failure.kind],
      message: explainStore(failure),
    }
  return explainSystem(failure)
}

function explainRootKeys({ message, source: { file, command } = {} }: RootKeyError): string {
  if (command !== undefined)
    return `BONDED_ROOT_KEYS_COMMAND: ${command} ${message}. Run it as the user of the service, without the BONDED_ settings, to see its messages, which can have a secret. It must print id:<base64url of 32 bytes>, several separated by commas, and end with status 0.`
  if (file === undefined)
    return `BONDED_ROOT_KEYS: ${message}. Expected id:<base64url of 32 bytes>, several separated by commas. To generate one: openssl rand -base64 32 | tr +/ -_ | tr -d =`
  return `The root key in ${file} is not usable: ${message}. Restore the file from a backup. Without a backup, delete it: the next start generates a new key, and sessions created under the old key become unreadable.`
}

function explainIdKey({ problem, rootKeyIds }: IdKeyError): string {
  const ids = rootKeyIds.join(', ')
  if (problem === 'wrong_key')
    return `The root key ${ids} is not the key ${ids} that this database was used with. Usually BONDED_ROOT_KEYS or root.key comes from another installation. Restore the original key, or list a new key under another id, before ${ids}.`
  return `The database has a key of session ids that is encrypted under the root key ${ids}, which is not listed. List ${ids} after the active key and start once, which encrypts it under every listed key. If ${ids} is lost, run this SQL on the database: delete from session_id_key. All stored sessions then read as not found.`
}

/** Messages that begin with what the operator typed, such as an origin, repeat it exactly. */
function asSentence(text: string): string {
  return /[.?!]$/.test(text) ? text : `${text}.`
}
