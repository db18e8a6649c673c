import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseId, type SessionId } from '@bonded/contract'
import { Argument, Command, InvalidArgumentError } from 'commander'
import { stateAt } from '@bonded/core/protocol/states'
import { OperatorError, sessionNotFound } from '@bonded/core/operations/admin/operator-error'
import type { Config } from '@bonded/server/settings/config'
import { jsonOption } from '@bonded/cli/program/arguments'
import { type Options, withService } from '@bonded/cli/program/open'
import { print } from '@bonded/cli/program/output'
import { programEnvironment } from '@bonded/server/adapters/programs/program'
import { createBackend, readCredential } from '../backend.ts'
import { storedClock } from '../clock/sandbox-clock.ts'
import { linkOf } from '../dev/newest-code.ts'
import { originOption, readSandboxConfig, rejectProductionTenants } from '../sandbox-options.ts'

type Place = 'demo' | 'portal' | SessionId

interface OpenOptions extends Options {
  readonly origin?: string
}

/** `bonded open`: prints an address of a sandbox, and opens it on a desktop. */
export function openCommand(): Command {
  return new Command('open')
    .description('Print an address of a sandbox, and open it in the browser of a desktop')
    .addArgument(
      new Argument(
        '<place>',
        'demo: the bank; portal: the webhooks of your tenant; sess_…: the phone page of a session',
      ).argParser(parsePlace),
    )
    .addHelpText(
      'after',
      '\nThe tenant of the portal is that of the server credential in BONDED_SERVER_CREDENTIAL.',
    )
    .addOption(originOption())
    .addOption(jsonOption('Print the address as JSON, and open nothing'))
    .action(async (place: Place, options: OpenOptions) => {
      const credential = place === 'portal' ? readCredential() : ''
      const config = readSandboxConfig('open', options)
      const url = await addressOf(place, { config, options, credential })
      print(options, { url }, [url])
      if (options.json !== true && process.stdout.isTTY) openInBrowser(url)
    })
}

function parsePlace(text: string): Place {
  const id = parseId('sess', text)
  if (id !== undefined) return id
  if (text === 'demo' || text === 'portal') return text
  throw new InvalidArgumentError('Expected demo, portal, or the id of a session (sess_…).')
}

async function addressOf(
  place: Place,
  {
    config,
    options,
    credential,
  }: { readonly config: Config; readonly options: OpenOptions; readonly credential: string },
): Promise<string> {
  switch (place) {
    case 'demo':
      return demoOf(config.dataDir)
    case 'portal': {
      const call = createBackend(options.origin ?? config.publicOrigin, credential)
      return (await call<{ url: string }>('/webhook-portal', { body: {} })).url
    }
    default:
      return phonePageOf(place, config, options)
  }
}

function demoOf(dataDir: string): string {
  const file = join(dataDir, 'demo.json')
  if (existsSync(file))
    return (JSON.parse(readFileSync(file, 'utf8')) as { bank_origin: string }).bank_origin
  throw new OperatorError('No demo has run on this data folder. Start it with bonded dev', {
    code: 'not_found',
  })
}

/** The link in the QR code that the session shows now, until its next challenge. */
function phonePageOf(id: SessionId, { dataDir }: Config, options: OpenOptions): Promise<string> {
  const clock = storedClock(dataDir)
  return withService(
    options,
    async (service) => {
      await rejectProductionTenants(service)
      const { session, tenant } = await service.store.read(function* (tables) {
        const session = yield* tables.sessions.find(id)
        return { session, tenant: session && (yield* tables.tenants.find(session.tenantId)) }
      })
      if (session === undefined) throw sessionNotFound(id)
      if (tenant?.environment !== 'sandbox')
        throw new OperatorError('Only a session of a sandbox tenant can be opened')
      const state = stateAt(session, clock.now())
      if (state !== 'pending')
        throw new OperatorError(`The session ${id} is ${state}, and shows no QR code`, {
          code: 'conflict',
        })
      return linkOf(service, session)
    },
    { clock },
  )
}

/** Opens nothing where no desktop is. No shell reads the address. */
export function openInBrowser(url: string): void {
  const { platform, env } = process
  const isDesktop =
    platform !== 'linux' || env.DISPLAY !== undefined || env.WAYLAND_DISPLAY !== undefined
  if (!isDesktop) return
  const [program, ...before] =
    platform === 'darwin'
      ? ['open']
      : platform === 'win32'
        ? ['rundll32', 'url.dll,FileProtocolHandler']
        : ['xdg-open']
  spawn(program, [...before, url], {
    env: programEnvironment(),
    detached: true,
    stdio: 'ignore',
  })
    // The address is printed, so the user can open it.
    .on('error', () => {})
    .unref()
}
