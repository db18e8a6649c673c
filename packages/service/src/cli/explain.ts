import { PhoneError } from '@bonded/phone/simulator'
import { RootKeyError } from '../adapters/keys/root-keys.ts'
import { MigrationError } from '../adapters/sql/migrate.ts'
import { ConfigError } from '../config.ts'
import { OperatorError } from '../operations/administer.ts'

/** A failure in the words of whoever has to mend it, and whether they asked wrongly or were refused. */
export function explain(failure: unknown): { text: string; usage: boolean } {
  if (failure instanceof ConfigError) return { text: failure.message, usage: true }
  if (failure instanceof RootKeyError)
    return { text: `BONDED_ROOT_KEYS: ${failure.message}. Expected id:<base64url of 32 bytes>, several separated by commas.`, usage: true }
  if (failure instanceof PhoneError) return { text: explainPhone(failure), usage: false }
  if (failure instanceof OperatorError) return { text: failure.message, usage: false }
  if (failure instanceof MigrationError)
    return { text: `${failure.message}. Nothing was changed. Use the version that made it, or another BONDED_DATABASE_URL.`, usage: false }
  return { text: explainSystem(failure), usage: false }
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
      return `The phone could not go on: ${reason ?? code}.`
  }
}

function settingOfPort(port: string): string {
  if (port === process.env.BONDED_METRICS_PORT) return 'BONDED_METRICS_PORT'
  return port === (process.env.BANK_PORT ?? '8788') ? 'BANK_PORT' : 'BONDED_PORT'
}

function explainSystem(failure: unknown): string {
  const { code, port, path, message } = failure as NodeJS.ErrnoException & { port?: number }
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${port} is in use. Stop what listens there, or set ${settingOfPort(String(port))} to another.`
    case 'EACCES':
    case 'EROFS':
      return `${path ?? message} cannot be written. Set BONDED_DATA_DIR to a folder that can.`
    case 'ERR_SQLITE_ERROR':
      return `The database cannot be opened: ${message}. Check BONDED_DATABASE_URL; nothing was changed.`
    default:
      return failure instanceof Error ? (failure.stack ?? failure.message) : String(failure)
  }
}
