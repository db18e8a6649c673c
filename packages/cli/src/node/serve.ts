import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Command } from 'commander'
import type { CarrierSettings } from '@bonded/server/adapters/carrier/carrier-client'
import { pushTransport } from '@bonded/server/adapters/push/push-transport'
import { httpsTransport } from '@bonded/server/adapters/webhooks/https-transport'
import { systemClock } from '@bonded/store/clock/system-clock'
import {
  NO_PASSPORT_TRUST,
  type PassportTrust,
} from '@bonded/server/adapters/attestation/passport/passport-trust'
import { checkBeforeServing } from '@bonded/store/sqlite/quick-check'
import { lockForServing } from '@bonded/store/sqlite/serving-lock'
import type { Config } from '@bonded/server/settings/config'
import type { ScriptSource } from '@bonded/server/http/pages/hosted-script'
import type { AddPages } from '@bonded/server/http/server'
import type { LoadPhonePage } from '@bonded/server/http/pages/phone-page'
import { buildOnce } from '@bonded/server/http/pages/static-file'
import { openLog } from '@bonded/server/log'
import type { Clock } from '@bonded/core/ports/clock'
import type { Meter } from '@bonded/core/ports/meter'
import type { Tracer } from '@bonded/core/ports/tracer'
import type { TraceSettings } from '@bonded/server/settings/trace-settings'
import type { CarrierProvider } from '@bonded/core/ports/carrier'
import { VERSION } from '@bonded/server/version'
import { closeService, type RunningService, startService } from '@bonded/server/compose'
import { admitNode } from '@bonded/core/operations/maintenance/node-levels'
import { checkRpIds } from '@bonded/core/operations/admin/relying-parties'
import { describeQrContent } from '@bonded/server/settings/qr-content'
import { jsonOption } from '../program/arguments.ts'
import { inheritedSocket } from './inherited-socket.ts'
import { type Options, openService } from '../program/open.ts'
import { printLine, write } from '../program/output.ts'
import { ignoreParent } from '../program/parent.ts'
import { openWhenReachable } from './wait-for-database.ts'
import {
  type IgnoredSetting,
  readServiceConfig,
  recordSettings,
} from '../program/service-config.ts'
import { StartedParts } from './started-parts.ts'

/** `bonded serve`: runs the service. */
export function serveCommand(): Command {
  return new Command('serve')
    .description('Run the service')
    .addOption(jsonOption('Print the ready message as JSON, and the log to stderr'))
    .action(async (options: Options) => {
      endOnSignalDuringStart()
      const ignored: IgnoredSetting[] = []
      const config = await readServiceConfig(options, (each) => ignored.push(each))
      // With --json, stdout is one document, so the log goes to stderr.
      const log = openLog('info', options.json === true ? 'stderr' : 'stdout')
      for (const each of ignored) log.warn(each, 'a setting of a newer version is ignored')
      const running = await serve(config, log)
      const { service, port } = running
      const ready = {
        ready: service.settings.publicOrigin,
        pid: process.pid,
        port,
        after_ms: Math.round(performance.now()),
        qr_content: service.settings.qrContent,
      }
      printLine(options, ready, [
        `ready: ${ready.ready} (pid ${ready.pid}, after ${ready.after_ms} ms)`,
        `The QR code ${describeQrContent(service.settings)}.`,
      ])
      closeOnSignal(options, running)
    })
}

/**
 * Ends the process on a signal until it serves. Without a listener, the system ignores the signals
 * of process 1, which a service is in a container. A migration is one transaction, so that its end
 * leaves nothing behind.
 */
function endOnSignalDuringStart(): void {
  onEndSignal(() => process.exit(1))
}

let whenSignaled: (() => void) | undefined

/**
 * Sets what SIGTERM and SIGINT do from now on. The listeners stay: Node drops a signal that has
 * arrived if its last listener is removed, even if another is added at once.
 */
function onEndSignal(action: () => void): void {
  if (whenSignaled === undefined)
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => whenSignaled?.())
  whenSignaled = action
}

interface ServeOptions {
  readonly script?: ScriptSource
  /** The default is the clock of the machine, or that of the database. */
  readonly clock?: Clock
  /** Country certificates that are trusted for sandbox tenants, beside those of the folder. */
  readonly sandboxPassportRoots?: readonly Uint8Array[]
  /** The pages that `bonded dev` adds to its sandbox. */
  readonly addPages?: AddPages | undefined
}

/** Starts the configured service, on a file as the only one, and writes `service.pid`. */
export async function serve(
  config: Config,
  log: ReturnType<typeof openLog>,
  { script = hostedScript(), clock, sandboxPassportRoots = [], addPages }: ServeOptions = {},
): Promise<RunningService> {
  await using started = new StartedParts()
  mkdirSync(config.dataDir, { recursive: true, mode: 0o700 })
  // Several nodes share a PostgreSQL database, but a file has one service.
  if (config.postgres === undefined) {
    mkdirSync(dirname(config.databaseFile), { recursive: true, mode: 0o700 })
    started.use(lockForServing(config.databaseFile))
    checkBeforeServing(config.databaseFile)
  }
  const trust = await trustIn(config.cscaDir, clock)
  const passportTrust = { ...trust, sandbox: [...trust.sandbox, ...sandboxPassportRoots] }
  const figures =
    config.metricsPort === undefined
      ? undefined
      : started.use(await openFigures({ host: config.metricsHost, port: config.metricsPort }))
  const traces =
    config.traces === undefined
      ? undefined
      : started.use(await openTraces(config.traces, { log, meter: figures?.meter }))
  const carrier = config.carriers.length === 0 ? undefined : await carrierOf(config.carriers, clock)
  const serviceParts = {
    ...(figures && { meter: figures.meter }),
    ...(traces && { tracer: traces.tracer }),
    ...(carrier && { carrier }),
    // Receivers have their own clocks, and an attempt takes the time that it takes.
    ...(clock && {
      clock,
      webhooks: httpsTransport({ clock: systemClock, hosts: config.webhookHosts }),
      push: pushTransport({ clock: systemClock, hosts: config.pushHosts }),
    }),
    passportTrust,
    log,
    serves: true,
  }
  const open = () => openService(config, serviceParts)
  const { host, port } = config
  const socket = inheritedSocket(process.env)
  // A file is opened at once, or never. Connections to an inherited socket wait in its queue.
  const service = await (config.postgres === undefined || socket !== undefined
    ? open()
    : openWhenReachable(open, { host, port, log, meter: figures?.meter }))
  try {
    await checkRpIds(service, config)
    await recordSettings(service)
    await admitNode(service)
  } catch (failure) {
    await closeService(service)
    throw failure
  }
  const running = started.use(
    await startService(service, {
      host,
      port,
      socket,
      log,
      script,
      bodyBudgetBytes: config.bodyBudgetBytes,
      drainMs: config.drainMs,
      addPages,
      phonePage,
    }),
  )
  const pidFile = join(config.dataDir, 'service.pid')
  started.defer(() => rmSync(pidFile, { force: true }))
  writeFileSync(pidFile, `${process.pid}\n`)
  // The caller disposes everything, in the opposite order.
  const parts = started.move()
  return { ...running, [Symbol.asyncDispose]: () => parts[Symbol.asyncDispose]() }
}

async function trustIn(cscaDir: string, clock: Clock = systemClock): Promise<PassportTrust> {
  if (!existsSync(cscaDir)) return NO_PASSPORT_TRUST
  // Loaded here, because a service without this folder does not need the readers.
  const { readTrustFolder } = await import(
    '@bonded/server/adapters/attestation/passport/trust-folder'
  )
  return readTrustFolder(cscaDir, clock.now())
}

/** The widget's script, built when it is first loaded, and cached. */
export function hostedScript(): ScriptSource {
  const load = buildOnce(async () => {
    const { loadPulseScript } = await import('@bonded/widget/script')
    return loadPulseScript()
  })
  return { version: VERSION, load }
}

/** The phone page, built when the first phone opens it. */
export const phonePage: LoadPhonePage = async () => {
  const { loadPhonePage } = await import('@bonded/phone-page/files')
  return loadPhonePage()
}

async function carrierOf(
  carriers: readonly CarrierSettings[],
  clock: Clock = systemClock,
): Promise<CarrierProvider> {
  // Loaded here, because a service without carriers does not need the library.
  const { camaraCarrier } = await import('@bonded/server/adapters/carrier/camara')
  return camaraCarrier(carriers, { clock })
}

/** The tracer, and the exporter that sends its spans until the end. */
async function openTraces(
  { endpoint, headers, ratio }: TraceSettings,
  { log, meter }: { log: ReturnType<typeof openLog>; meter: Meter | undefined },
): Promise<{ readonly tracer: Tracer } & AsyncDisposable> {
  // Loaded here, because a service without traces does not need them.
  const { OtlpExporter } = await import('@bonded/server/adapters/tracing/otlp-exporter')
  const { otlpTracer } = await import('@bonded/server/adapters/tracing/otlp-tracer')
  const exporter = new OtlpExporter({
    endpoint,
    headers,
    version: VERSION,
    resource: [
      { key: 'service.name', value: { stringValue: 'bonded' } },
      { key: 'service.version', value: { stringValue: VERSION } },
    ],
    onFailure: (failure) => log.warn({ err: failure }, 'the trace collector does not accept spans'),
    onDrop: (count) => meter?.droppedSpans(count),
  })
  return {
    tracer: otlpTracer({ add: (span) => exporter.add(span), ratio }),
    [Symbol.asyncDispose]: () => exporter[Symbol.asyncDispose](),
  }
}

/** The meter, and the listener that serves it. */
async function openFigures(address: {
  readonly host: string
  readonly port: number
}): Promise<{ readonly meter: Meter } & AsyncDisposable> {
  // Loaded here, because a service without metrics does not need the library.
  const { prometheusMeter } = await import('@bonded/server/adapters/meter/prometheus-meter')
  const { listenForMetrics } = await import('@bonded/server/adapters/meter/metrics-listener')
  const meter = prometheusMeter({ version: VERSION })
  const listener = await listenForMetrics(meter, address)
  return {
    meter,
    async [Symbol.asyncDispose]() {
      await listener[Symbol.asyncDispose]()
      meter[Symbol.dispose]()
    },
  }
}

/** A process manager kills the process after 25 s or more. */
const ENDS_WITHIN_MS = 24_500

/**
 * Shuts down on the first SIGTERM or SIGINT; a second one ends the process at once. On a terminal
 * it prints that it waits, because open requests are completed first. The process ends in time even
 * if a part hangs, such as a connection to a database that does not respond.
 */
export function closeOnSignal(
  { json }: Pick<Options, 'json'>,
  ...running: readonly AsyncDisposable[]
): void {
  const say = (text: string) => void (process.stdout.isTTY && json !== true && write(text))
  onEndSignal(() => {
    ignoreParent()
    say('\nStopping: completing open requests. Press Ctrl+C again to stop at once.\n')
    onEndSignal(() => process.exit(1))
    setTimeout(() => {
      process.stderr.write(
        'error: the shutdown takes too long. Requests in progress were ended. Everything that the service acknowledged is stored.\n',
      )
      process.exit(1)
    }, ENDS_WITHIN_MS)
    Promise.all(running.map((part) => part[Symbol.asyncDispose]())).then(
      () => {
        say('Stopped.\n')
        process.exit(0)
      },
      (failure: unknown) => {
        process.stderr.write(
          `error: shutdown failed: ${failure instanceof Error ? failure.message : String(failure)}\n`,
        )
        process.exit(1)
      },
    )
  })
}
