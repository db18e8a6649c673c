import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { accountName } from './operator.ts'

interface SystemFailure extends NodeJS.ErrnoException {
  readonly port?: number
  readonly address?: string
}

/**
 * Explains an error of the operating system. Its code is the lower-case errno. Anything else is a
 * defect of this program, and keeps its stack.
 */
export function explainSystem(failure: unknown): { code: string; message: string } {
  const { code, syscall } = failure as SystemFailure
  const message =
    syscall === 'listen'
      ? explainListening(failure as SystemFailure)
      : explainFile(failure as SystemFailure)
  if (message !== undefined) return { code: code?.toLowerCase() ?? 'system', message }
  return {
    code: 'internal',
    message: failure instanceof Error ? (failure.stack ?? failure.message) : String(failure),
  }
}

function explainListening({ code, port, address }: SystemFailure): string | undefined {
  const setting = settingOfPort(String(port))
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${port} is in use. Stop the program that listens on it, or set ${setting} to another port.`
    case 'EACCES':
      return `This account may not listen on port ${port}. Set ${setting} to a port above 1023, and run a proxy in front of it.`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `This machine has no address ${address}. Set BONDED_HOST to one that it has: 127.0.0.1, or :: for all.`
    default:
      return undefined
  }
}

function settingOfPort(port: string): string {
  if (port === process.env.BONDED_METRICS_PORT) return 'BONDED_METRICS_PORT'
  if (port === (process.env.DEMO_PORT ?? '8789')) return 'DEMO_PORT'
  return port === (process.env.BANK_PORT ?? '8788') ? 'BANK_PORT' : 'BONDED_PORT'
}

function explainFile({ code, path, message }: SystemFailure): string | undefined {
  // A failure of an open file has no path.
  const where = path ?? `A file of this command (${message})`
  const elsewhere =
    'Set BONDED_DATA_DIR (and BONDED_DATABASE_URL, if you use it) to another location.'
  switch (code) {
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return `${where} cannot be written or read by the account ${accountName()}. Give this account access to it, or name another place. For the data of the service: ${elsewhere}`
    case 'ENOENT':
      return `${path === undefined ? where : firstMissing(path)} does not exist. Check the path.`
    case 'ENOSPC':
    case 'EDQUOT':
      return path === undefined
        ? `A disk is full (${message}). Free some space on it, and try again.`
        : `The disk that holds ${path} is full. Free some space on it, and try again.`
    case 'EISDIR':
    case 'ENOTDIR':
    case 'EEXIST':
      return `${where} has the wrong type: a file is in the place of a folder, or a folder in the place of a file. ${elsewhere}`
    default:
      return undefined
  }
}

/** A file that a command creates has another remedy if its folder does not exist. */
function firstMissing(path: string): string {
  const folder = dirname(path)
  return existsSync(folder) ? path : `The folder ${folder}`
}
