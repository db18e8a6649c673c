interface SystemFailure extends NodeJS.ErrnoException {
  readonly port?: number
  readonly address?: string
}

/** A failure of the operating system in words; anything else is a bug, and shows its stack. */
export function explainSystem(failure: unknown): string {
  const { code, syscall } = failure as SystemFailure
  const explained =
    syscall === 'listen'
      ? explainListening(failure as SystemFailure)
      : explainFile(failure as SystemFailure, code)
  return (
    explained ?? (failure instanceof Error ? (failure.stack ?? failure.message) : String(failure))
  )
}

function explainListening({ code, port, address }: SystemFailure): string | undefined {
  const setting = settingOfPort(String(port))
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${port} is in use. Stop what listens there, or set ${setting} to another.`
    case 'EACCES':
      return `This user may not listen on port ${port}. Set ${setting} to one above 1023, and put a proxy before it.`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `This machine has no address ${address}. Set BONDED_HOST to one it has: 127.0.0.1, or 0.0.0.0 for all.`
    default:
      return undefined
  }
}

function settingOfPort(port: string): string {
  if (port === process.env.BONDED_METRICS_PORT) return 'BONDED_METRICS_PORT'
  return port === (process.env.BANK_PORT ?? '8788') ? 'BANK_PORT' : 'BONDED_PORT'
}

function explainFile(
  { path, message }: SystemFailure,
  code: string | undefined,
): string | undefined {
  const where = path ?? message
  const elsewhere =
    'Set BONDED_DATA_DIR (and BONDED_DATABASE_URL, if it is set) to a folder that can.'
  switch (code) {
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return `${where} cannot be written by this user. ${elsewhere}`
    case 'ENOSPC':
    case 'EDQUOT':
      return `The disk that holds ${where} is full. Make room on it, and try again.`
    case 'EISDIR':
    case 'ENOTDIR':
    case 'EEXIST':
      return `${where} is not what it should be: a file stands where a folder is needed, or the other way round. ${elsewhere}`
    default:
      return undefined
  }
}
