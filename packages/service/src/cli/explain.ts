import { PhoneError } from '@bonded/simulator'
import { RootKeyError } from '../adapters/keys/root-keys.ts'
import { MigrationError } from '../adapters/sql/migrate.ts'
import { PassportTrustError } from '../adapters/proofs/passport/passport-trust.ts'
import { StoreInUse } from '../adapters/sql/serving-lock.ts'
import { ConfigError } from '../config.ts'
import { OperatorError } from '../operations/admin/tenants.ts'
import { StoreError } from '../ports/store.ts'
import { explainStore } from './explain-store.ts'
import { explainSystem } from './explain-system.ts'

/** A failure in the words of whoever has to mend it, and whether they asked wrongly or were refused. */
export function explain(failure: unknown): { text: string; usage: boolean } {
  if (failure instanceof ConfigError || failure instanceof PassportTrustError)
    return { text: failure.message, usage: true }
  if (failure instanceof RootKeyError)
    return { text: explainRootKeys(failure), usage: failure.file === undefined }
  return { text: explainRefusal(failure), usage: false }
}

function explainRefusal(failure: unknown): string {
  if (failure instanceof PhoneError) return explainPhone(failure)
  if (failure instanceof OperatorError) return failure.message
  if (failure instanceof MigrationError)
    return `${failure.message}. Nothing was changed. Use the version that made it, or another BONDED_DATABASE_URL.`
  if (failure instanceof StoreInUse)
    return `Another bonded serve or bonded dev works on ${failure.file}. Stop that one first, or give this one a file of its own with BONDED_DATABASE_URL.`
  if (failure instanceof StoreError) return explainStore(failure)
  return explainSystem(failure)
}

function explainRootKeys({ message, file }: RootKeyError): string {
  if (file === undefined)
    return `BONDED_ROOT_KEYS: ${message}. Expected id:<base64url of 32 bytes>, several separated by commas. openssl rand -base64 32 | tr +/ -_ | tr -d = makes one.`
  return `The root key in ${file} cannot be used: ${message}. Restore the file from a copy. Without one, remove it: the next start makes a new key, and the sessions made under the old one can no longer be read.`
}

function explainPhone({ code, reason }: PhoneError): string {
  switch (code) {
    case 'handoff_unreadable':
      return reason === 'no_code'
        ? 'There is no code to read in this picture. Make it sharper or larger.'
        : 'This is not a code or a link of a session.'
    case 'unreachable':
      return 'The service cannot be reached. Is it running, and is its origin right? --origin names another.'
    default:
      if (reason === 'format_not_enabled' || reason === 'attestation_invalid')
        return `The service does not take this phone’s key (${reason}). A sandbox service does once it was started with the phone’s test-roots.json as BONDED_TEST_ROOTS; --format software needs none.`
      return `The phone could not go on: ${reason ?? code}.`
  }
}
