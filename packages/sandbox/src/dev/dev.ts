import { parseId } from '@bonded/contract'
import {
  createPassport,
  createPassportAuthority,
  createPassportChip,
  findTestRoots,
  loadTestAuthority,
} from '@bonded/simulator'
import { Command } from 'commander'
import pino, { type Logger } from 'pino'
import { closeService, type RunningService } from '@bonded/server/compose'
import { type Config, readConfig } from '@bonded/server/settings/config'
import { LOG_OPTIONS, logStream, openLog } from '@bonded/server/log'
import { inspectSession } from '@bonded/core/operations/admin/inspect-session'
import { OperatorError } from '@bonded/core/operations/admin/operator-error'
import type { Clock } from '@bonded/core/ports/clock'
import { jsonOption } from '@bonded/cli/program/arguments'
import { AnsweringPhone } from '../answer/answering-phone.ts'
import { explain } from '../explain.ts'
import { listenForClock } from '../clock/clock-socket.ts'
import { storedClock } from '../clock/sandbox-clock.ts'
import { DEMO_ACTION, DEMO_WORKFLOW, type DemoTenant, demoTenant } from './demo-tenant.ts'
import { newestCode } from './newest-code.ts'
import { RestartableService } from './restartable-service.ts'
import { type PhoneSurroundings, softwarePhonePages } from './software-phone.ts'
import { listenForKeys } from './terminal-keys.ts'
import { welcome } from './welcome.ts'
import { openService, type Options } from '@bonded/cli/program/open'
import { print } from '@bonded/cli/program/output'
import { phoneAt } from '../phone/phone.ts'
import { rejectProductionTenants } from '../sandbox-options.ts'
import { closeOnSignal, hostedScript, serve } from '@bonded/cli/node/serve'
import { StartedParts } from '@bonded/cli/node/started-parts'
import type { AddPages } from '@bonded/server/http/server'

/** The ports of the demo bank and of the phone beside it, next to the service's. */
const BANK_PORT = '8788'
const DEMO_PORT = '8789'

type DemoExample = typeof import('@bonded/example-demo')
type Activity = ReturnType<DemoExample['createActivity']>
type Examples = Awaited<ReturnType<typeof loadExamples>>

interface DevOptions extends Options {
  readonly demo: boolean
}

/**
 * `bonded dev`: a service whose clock can be advanced, a demo bank and a simulated phone on one
 * machine. The demo works in the repository only.
 */
export function devCommand(): Command {
  return new Command('dev')
    .description('Run a sandbox on this machine: the service, a demo bank and a simulated phone')
    .option('--no-demo', 'Without the bank and the phone, which only the repository has')
    .addOption(jsonOption('Print the addresses as JSON, and read no keys'))
    .action(async (options: DevOptions) => {
      // The test roots are created first: reading the configuration then trusts the simulated
      // phone.
      const { dataDir, environment } = readConfig(process.env, options)
      if (environment === 'production')
        throw new OperatorError('bonded dev runs a sandbox. Unset BONDED_ENVIRONMENT', {
          code: 'invalid',
        })
      loadTestAuthority(dataDir)
      await using started = new StartedParts()
      await (options.demo ? startSandbox : startWithoutDemo)(started, options)
      closeOnSignal(options, started.move())
    })
}

/**
 * A camera opens the universal link, so that a phone without the app reaches the phone page. All
 * tenants of a sandbox are one organization's, so the bank's page may ask for the passkey itself.
 */
function inDev(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return {
    BONDED_QR_CONTENT: 'universal_link',
    BONDED_RELATED_ORIGINS: 'on',
    ...environment,
  }
}

/** The address of a tunnel changes with each start, and with it the RP ID. */
function configOf(options: Options): Config {
  return { ...readConfig(inDev(process.env), options), formerRpIds: undefined }
}

/** Starts the service with a clock that `bonded clock` advances. */
async function startService(
  started: StartedParts,
  {
    config,
    log,
    addPages,
  }: { readonly config: Config; readonly log: Logger; readonly addPages?: AddPages },
): Promise<RestartableService> {
  const clock = storedClock(config.dataDir)
  const script = hostedScript()
  // The first page needs it soon. A failure is reported to the page, which loads it again.
  script.load().catch(() => {})
  // The keys of the test country stay in this process, so no other service trusts its passports.
  const country = createPassportAuthority(clock.now())
  const passport = createPassport(country, { chip: createPassportChip({ kind: 'ecdsa' }) })
  const sandboxPassportRoots = [country.countryCertificate]
  const phone = new AnsweringPhone({
    origin: config.publicOrigin,
    folder: config.dataDir,
    isAttested: findTestRoots(config.dataDir) !== undefined,
    passport,
    onFailure: (failure, value) =>
      void process.stderr.write(`${value}: ${explain(failure).message}\n`),
  })
  const service = started.use(
    await RestartableService.start(async () => {
      await rejectProductionDatabase(config, clock)
      const running = await serve(config, log, { script, clock, sandboxPassportRoots, addPages })
      phone.watch(running.service)
      return running
    }),
  )
  const checkTenants = async () => {
    if (service.service !== undefined) await rejectProductionTenants(service.service)
  }
  started.use(await listenForClock(config.dataDir, { clock, checkTenants }))
  started.use(phone)
  return service
}

/** Checks the tenants before anything serves them, because work in the background ends sessions. */
async function rejectProductionDatabase(config: Config, clock: Clock): Promise<void> {
  const service = await openService(config, { clock })
  try {
    await rejectProductionTenants(service)
  } finally {
    await closeService(service)
  }
}

async function startWithoutDemo(started: StartedParts, options: Options): Promise<void> {
  const config = configOf(options)
  const log = openLog('error', options.json === true ? 'stderr' : 'stdout')
  const { port } = await startService(started, { config, log })
  print(options, { service: config.publicOrigin, pid: process.pid, port }, [
    `A sandbox runs at ${config.publicOrigin}. Create a tenant with bonded tenant create.`,
    'Advance its clock with bonded clock advance. Stop it with Ctrl+C.',
  ])
}

/** Starts the service, the phone and the bank, in this order, and prints their addresses. */
async function startSandbox(started: StartedParts, options: Options): Promise<void> {
  const examples = await loadExamples()
  const config = configOf(options)
  const running: { service?: RestartableService; demo?: PhoneSurroundings } = {}
  const activity = examples.demo.createActivity({ stateOf: (id) => stateOf(running.service, id) })
  const log = logTo(activity, options)
  const addPages = softwarePhonePages(examples.demo, () => running.demo)
  const service = await startService(started, { config, log, addPages })
  running.service = service
  running.demo = await startDemo(started, options, { examples, config, activity, service })
}

async function startDemo(
  started: StartedParts,
  options: Options,
  {
    examples: { demo, bank },
    config,
    activity,
    service,
  }: {
    readonly examples: Examples
    readonly config: Config
    readonly activity: Activity
    readonly service: RestartableService
  },
): Promise<PhoneSurroundings> {
  const bankOrigin = `http://localhost:${process.env.BANK_PORT ?? BANK_PORT}`
  const tenant = await demoTenant(serviceOf(service), {
    dataDir: config.dataDir,
    bankOrigin,
    names: demo,
  })
  const shown = started.use(
    await demo.startDemo({
      port: Number(process.env.DEMO_PORT ?? DEMO_PORT),
      bankOrigin,
      serviceOrigin: config.publicOrigin,
      publishableKey: tenant.publishable_key,
      serverCredential: tenant.server_credential,
      tenantId: tenant.tenant_id,
      workflow: DEMO_WORKFLOW,
      action: DEMO_ACTION,
      sandbox: sandboxOf(service, tenant),
      activity,
    }),
  )
  const runningBank = await bank.startBank({
    port: Number(new URL(bankOrigin).port),
    serviceOrigin: config.publicOrigin,
    serverCredential: tenant.server_credential,
    publishableKey: tenant.publishable_key,
    tenantId: tenant.tenant_id,
    requireBrowser: { [demo.BROWSER_WORKFLOW]: { origin: bankOrigin, firstBond: true } },
    demo: shown.forBank,
    log: (event) => shown.addBankEvent(event),
  })
  started.use({ [Symbol.asyncDispose]: () => runningBank.close() })
  const addresses = {
    bank: runningBank.url,
    phone: shown.phoneOrigin,
    service: config.publicOrigin,
  }
  const withKeys = process.stdin.isTTY && options.json !== true
  print(
    options,
    { ...addresses, relay: shown.relayOrigin, pid: process.pid, tenant_id: tenant.tenant_id },
    welcome(addresses, withKeys),
  )
  if (withKeys)
    listenForKeys({
      service: () => service.service,
      tenantId: tenant.tenant_id,
      phone: phoneAt(options),
    })
  return {
    serviceOrigin: config.publicOrigin,
    bankOrigin,
    phoneOrigin: shown.phoneOrigin,
    relayOrigin: shown.relayOrigin,
  }
}

/** Only the repository has the examples. */
async function loadExamples() {
  try {
    return {
      demo: await import('@bonded/example-demo'),
      bank: await import('@bonded/example-bank'),
    }
  } catch (cause) {
    throw new OperatorError('The demo works in the repository only. Run bonded dev --no-demo', {
      cause,
    })
  }
}

/** Logs errors to the terminal, and every request to the activity beside the bank. */
function logTo(activity: Activity, { json }: Options) {
  return pino(
    { ...LOG_OPTIONS, level: 'info' },
    pino.multistream([
      { level: 'info', stream: { write: (line: string) => activity.addLogLine(line) } },
      { level: 'error', stream: logStream(json === true ? 'stderr' : 'stdout') },
    ]),
  )
}

function serviceOf(restartable: RestartableService): RunningService['service'] {
  if (restartable.service === undefined) throw new Error('the service is stopped')
  return restartable.service
}

async function stateOf(
  restartable: RestartableService | undefined,
  sessionId: string,
): Promise<string | undefined> {
  const id = parseId('sess', sessionId)
  const service = restartable?.service
  return id && service && (await inspectSession(service, id)).state
}

/** What the demo may do with the sandbox. */
function sandboxOf(restartable: RestartableService, { tenant_id }: DemoTenant) {
  return {
    async newestCode() {
      const code = await newestCode(serviceOf(restartable), tenant_id)
      return (
        code && {
          session_id: code.session.id,
          createdAtMs: code.session.createdAt,
          link: code.link,
          isWatched: code.session.requestingOrigin !== null,
        }
      )
    },
    stateOf: (id: string) => stateOf(restartable, id),
    isServiceRunning: () => restartable.service !== undefined,
    stopService: () => restartable.stop(),
    startService: () => restartable.restart(),
  }
}
