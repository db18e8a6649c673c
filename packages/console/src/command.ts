import { jsonOption } from '@bonded/cli/program/arguments'
import { openBeside, type Options } from '@bonded/cli/program/open'
import { print, printLine } from '@bonded/cli/program/output'
import { readServiceConfig } from '@bonded/cli/program/service-config'
import { SettingsFileError } from '@bonded/cli/program/settings-file-error'
import { isDisplayText } from '@bonded/contract'
import { closeService } from '@bonded/server/compose'
import { openLog } from '@bonded/server/log'
import type { Config } from '@bonded/server/settings/config'
import { Command, InvalidArgumentError, Option } from 'commander'
import { readAccess } from './access.ts'
import { PasskeySignIn } from './passkey-sign-in.ts'
import { Passkeys } from './passkeys.ts'
import { Provider } from './provider.ts'
import { serveConsole } from './server.ts'
import { type Role, ROLES } from './roles.ts'
import { ProviderSignIn, type SignInMethod, type SignInParts } from './sign-in.ts'

interface ConsoleOptions extends Options {
  readonly access?: string
  readonly enroll?: Role
  readonly name: string
  readonly listen: { readonly host: string; readonly port: number }
}

/** Enough for a few people, and few beside those of the nodes. */
const POOL_SIZE = 3
/** A page that takes longer is not worth the work of the database. */
const STATEMENT_TIMEOUT_MS = 3_000
const MAX_NAME = 64
const DEFAULT_LISTEN = { host: '127.0.0.1', port: 8450 }

/** `bonded console`: the operator's pages, in a process and with connections of its own. */
export function consoleCommand(): Command {
  return new Command('console')
    .description('Serve the operator’s console to a browser')
    .addOption(
      new Option(
        '--access <file>',
        'Who may sign in with an OpenID provider (YAML). Without it, passkeys of this machine sign in',
      ),
    )
    .addOption(
      new Option(
        '--enroll <role>',
        'Print an address that enrolls one passkey with this role, and end',
      ).choices([...ROLES]),
    )
    .addOption(
      new Option('--name <name>', 'Whose passkey it is, for the audit log')
        .argParser(parseName)
        .default('operator', 'operator'),
    )
    .addOption(
      new Option('--listen <host:port>', 'Where to listen')
        .argParser(parseListen)
        .default(DEFAULT_LISTEN, `${DEFAULT_LISTEN.host}:${DEFAULT_LISTEN.port}`),
    )
    .addOption(jsonOption('Print the ready message as JSON, and the log to stderr'))
    .action(async (options: ConsoleOptions) => {
      const { json, listen, enroll } = options
      const config = bounded(await readServiceConfig(options))
      const passkeys = new Passkeys(config.dataDir)
      if (enroll !== undefined) return printInvitation(passkeys, { ...options, enroll })
      const { origin, signIn } = wayToSignIn(passkeys, options)
      const log = openLog('info', json === true ? 'stderr' : 'stdout')
      const service = await openBeside(config, { log })
      const running = await serveConsole({ service, origin, signIn, log, ...listen })
      const ready = { ready: origin, pid: process.pid, port: running.port }
      printLine({ json }, ready, [`ready: ${ready.ready} (pid ${ready.pid}, port ${ready.port})`])
      const end = async () => {
        await running[Symbol.asyncDispose]()
        await closeService(service)
      }
      // A second signal ends the process at once.
      for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void end())
    })
}

/** With a provider, or without a file on this machine with passkeys. */
function wayToSignIn(
  passkeys: Passkeys,
  { access: file, listen }: ConsoleOptions,
): { readonly origin: string; readonly signIn: (parts: SignInParts) => SignInMethod } {
  if (file !== undefined) {
    const access = readAccess(file)
    const signIn = (parts: SignInParts) => {
      const method = new ProviderSignIn(new Provider(access, parts.now), parts)
      // The log then has the reason before an operator tries to sign in.
      void method.check()
      return method
    }
    return { origin: access.origin, signIn }
  }
  if (!['127.0.0.1', '::1', 'localhost'].includes(listen.host))
    throw new SettingsFileError(
      'Without --access, the console listens on this machine only, such as at 127.0.0.1:8450.',
    )
  const origin = originHere(listen)
  return { origin, signIn: (parts) => new PasskeySignIn(passkeys, { ...parts, origin }) }
}

function printInvitation(
  passkeys: Passkeys,
  { enroll: role, name, listen, json }: ConsoleOptions & { readonly enroll: Role },
): void {
  const address = `${originHere(listen)}/enroll/${passkeys.invite({ name, role }, Date.now())}`
  print({ json }, { address, role, name }, [
    `Open this address on this machine within 10 minutes. It works once, for ${name} as ${role}:`,
    address,
  ])
}

/** Browsers permit passkeys and the cookie of a session without TLS at this name only. */
function originHere({ port }: ConsoleOptions['listen']): string {
  return `http://localhost:${port}`
}

function parseName(text: string): string {
  if (isDisplayText(text) && Array.from(text).length <= MAX_NAME) return text
  throw new InvalidArgumentError(`Expected 1 to ${MAX_NAME} visible characters.`)
}

/** The console takes little of what the nodes need. */
function bounded(config: Config): Config {
  const { postgres } = config
  if (postgres === undefined) return config
  const poolSize = Math.min(postgres.poolSize, POOL_SIZE)
  const statementTimeoutMs = Math.min(postgres.statementTimeoutMs, STATEMENT_TIMEOUT_MS)
  return { ...config, postgres: { ...postgres, poolSize, statementTimeoutMs } }
}

function parseListen(text: string): { readonly host: string; readonly port: number } {
  const [, host = '', port = ''] = /^(.+):(\d{1,5})$/.exec(text) ?? []
  const bare = host.replace(/^\[(.*)\]$/, '$1')
  if (bare !== '' && Number(port) <= 65_535) return { host: bare, port: Number(port) }
  throw new InvalidArgumentError('Expected an address and a port, such as 127.0.0.1:8450.')
}
