import { GateError } from '@bonded/integrator'
import { startBank } from './server.ts'

/** The exit code that shells expect for invalid settings. */
const EXIT_USAGE = 2

/** The message names both at once, so that one run shows everything that is missing. */
const missing = ['BONDED_SERVER_CREDENTIAL', 'BONDED_PUBLISHABLE_KEY'].filter(
  (name) => !process.env[name],
)
if (missing.length > 0)
  stop(`Set ${missing.join(' and ')}. "npx bonded tenant create" prints both.`)

const port = process.env.BANK_PORT ?? '8788'
const bank = await startBank({
  port: Number(port),
  serviceOrigin: process.env.BONDED_SERVICE_ORIGIN ?? 'http://localhost:8787',
  serverCredential: process.env.BONDED_SERVER_CREDENTIAL ?? '',
  publishableKey: process.env.BONDED_PUBLISHABLE_KEY ?? '',
  log: (event) => console.log(JSON.stringify(event)),
}).catch((failure: unknown) => stop(explain(failure)))
console.log(`The demo bank is running: ${bank.url}`)

const close = () => void bank.close().then(() => process.exit(0))
process.once('SIGINT', close)
process.once('SIGTERM', close)

function explain(failure: unknown): string {
  if (failure instanceof GateError)
    return `${failure.message} Check BONDED_SERVER_CREDENTIAL and BONDED_SERVICE_ORIGIN.`
  const { code } = failure as NodeJS.ErrnoException
  if (code === 'EADDRINUSE') return `Port ${port} is in use. Set BANK_PORT to another port.`
  if (code === 'ERR_INVALID_URL')
    return 'BONDED_SERVICE_ORIGIN is not an address. Expected one such as http://localhost:8787.'
  if (code === 'ERR_SOCKET_BAD_PORT') return 'BANK_PORT is not a port number, 0 to 65535.'
  return failure instanceof Error ? (failure.stack ?? failure.message) : String(failure)
}

function stop(message: string): never {
  console.error(`error: ${message}`)
  process.exit(EXIT_USAGE)
}
