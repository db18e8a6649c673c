import { join } from 'node:path'
import { parseId } from '@bonded/contract'
import { loadTestAuthority } from '@bonded/simulator'
import { Command } from 'commander'
import pino from 'pino'
import type { RunningService } from '@bonded/server/compose'
import { readConfig } from '@bonded/server/settings/config'
import { LOG_OPTIONS, logStream } from '@bonded/server/log'
import { inspectSession } from '@bonded/core/operations/admin/inspect-session'
import { OperatorError } from '@bonded/core/operations/admin/operator-error'
import { jsonOption } from '@bonded/cli/arguments'
import { DEMO_ACTION, DEMO_WORKFLOW, type DemoTenant, demoTenant } from './demo-tenant.ts'
import { newestCode } from './newest-code.ts'
import { RestartableService } from './restartable-service.ts'
import { listenForKeys } from './terminal-keys.ts'
import { welcome } from './welcome.ts'
import type { Options } from '@bonded/cli/open'
import { print } from '@bonded/cli/output'
import { phoneAt } from '../phone/phone.ts'
import { closeOnSignal, hostedScript, serve } from '@bonded/cli/serve'
import { StartedParts } from '@bonded/cli/started-parts'

/** The ports of the demo bank and of the phone beside it, next to the service's. */
const BANK_PORT = '8788'
const DEMO_PORT = '8789'

type DemoExample = typeof import('@bonded/example-demo')
type Activity = ReturnType<DemoExample['createActivity']>

/**
 * `bonded dev`: a service, a demo bank and a simulated phone on one machine. Works in the
 * repository only.
 */
export function devCommand(): Command {
  return new Command('dev')
    .description('Run a sandbox on this machine: the service, a demo bank and a simulated phone')
    .addOption(jsonOption('Print the addresses as JSON, and read no keys'))
    .action(async (options: Options) => {
      // The test roots are created first: reading the configuration then trusts the simulated
      // phone.
      const { dataDir, environment } = readConfig(process.env, options)
      if (environment === 'production')
        throw new OperatorError('bonded dev runs a sandbox. Unset BONDED_ENVIRONMENT', {
          code: 'invalid',
        })
      loadTestAuthority(dataDir)
      await using started = new StartedParts()
      await startSandbox(started, options)
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

/** Starts the service, the phone and the bank, in this order, and prints their addresses. */
async function startSandbox(started: StartedParts, options: Options): Promise<void> {
  const { demo, bank } = await loadExamples()
  // The address of a tunnel changes with each start, and with it the RP ID.
  const config = { ...readConfig(inDev(process.env), options), formerRpIds: undefined }
  const running: { service?: RestartableService } = {}
  const activity = demo.createActivity({ stateOf: (id) => stateOf(running.service, id) })
  const script = hostedScript()
  // The first page needs it soon. A failure is reported to the page, which loads it again.
  script.load().catch(() => {})
  const service = await RestartableService.start(() =>
    serve(config, logTo(activity, options), script),
  )
  running.service = started.use(service)

  const bankOrigin = `http://localhost:${process.env.BANK_PORT ?? BANK_PORT}`
  const tenant = await demoTenant(serviceOf(service), {
    dataDir: config.dataDir,
    bankOrigin,
    oneMinuteWorkflow: demo.ONE_MINUTE_WORKFLOW,
    browserWorkflow: demo.BROWSER_WORKFLOW,
  })
  const passkey = new demo.Passkey({
    file: join(config.dataDir, 'demo-passkey.json'),
    serviceOrigin: config.publicOrigin,
    pageOrigin: bankOrigin,
  })
  const phone = phoneAt({
    ...options,
    createBrowserKey: async (request) => passkey.create(request),
  })
  const shown = started.use(
    await demo.startDemo({
      port: Number(process.env.DEMO_PORT ?? DEMO_PORT),
      bankOrigin,
      serviceOrigin: config.publicOrigin,
      publishableKey: tenant.publishable_key,
      workflow: DEMO_WORKFLOW,
      action: DEMO_ACTION,
      phone,
      passkey,
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
  if (withKeys) listenForKeys({ service: () => service.service, tenantId: tenant.tenant_id, phone })
}

/** Only the repository has the examples. */
async function loadExamples() {
  try {
    return {
      demo: await import('@bonded/example-demo'),
      bank: await import('@bonded/example-bank'),
    }
  } catch (cause) {
    throw new OperatorError('bonded dev works in the repository only. Use bonded serve', { cause })
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
    isServiceRunning: () => restartable.service !== undefined,
    stopService: () => restartable.stop(),
    startService: () => restartable.restart(),
  }
}
