import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Command } from 'commander'
import type { OperatorSettings } from '../adapters/carrier/operator.ts'
import { systemClock } from '../adapters/clock/system-clock.ts'
import { readConfig } from '../config.ts'
import type { HostedScript, ScriptSource } from '../http/pages.ts'
import { openLog } from '../log.ts'
import type { Meter } from '../ports/meter.ts'
import type { CarrierProvider } from '../ports/proofs.ts'
import { VERSION } from '../version.ts'
import { type RunningService, startService } from '../wire.ts'
import { openService } from './open.ts'

/** `bonded serve`: the service alone. */
export function serveCommand(): Command {
  return new Command('serve')
    .description('Runs the service. Settings come from the environment or the file that BONDED_CONFIG names.')
    .option('--json', 'print the ready line as JSON')
    .action(async (options: { json?: boolean }) => {
      // With --json, stdout is one document; the log goes beside it.
      const running = await serve(openLog('info', options.json === true ? 'stderr' : 'stdout'))
      const ready = { ready: running.service.settings.publicOrigin, pid: process.pid, after_ms: Math.round(performance.now()) }
      process.stdout.write(options.json ? `${JSON.stringify(ready)}\n` : `ready: ${ready.ready} (pid ${ready.pid}, after ${ready.after_ms} ms)\n`)
      closeOnSignal(running)
    })
}

/** Starts the configured service and writes its pid where whoever must stop it finds it. */
export async function serve(log: ReturnType<typeof openLog>): Promise<RunningService> {
  const config = readConfig(process.env)
  const figures = config.metricsPort === undefined ? undefined : await openFigures(config.metricsPort)
  const carrier = config.operators.length === 0 ? undefined : await carrierOf(config.operators)
  const running = await startService(openService(config, { ...(figures ? { meter: figures.meter } : {}), ...(carrier ? { carrier } : {}) }), {
    host: config.host,
    port: config.port,
    log,
    script: hostedScript(),
  }).catch(async (failure: unknown) => {
    await figures?.[Symbol.asyncDispose]()
    throw failure
  })
  mkdirSync(config.dataDir, { recursive: true, mode: 0o700 })
  const pidFile = join(config.dataDir, 'service.pid')
  writeFileSync(pidFile, `${process.pid}\n`)
  return {
    ...running,
    async [Symbol.asyncDispose]() {
      await running[Symbol.asyncDispose]()
      await figures?.[Symbol.asyncDispose]()
      rmSync(pidFile, { force: true })
    },
  }
}

/** The widget's script, made when the first page asks for it and kept. */
function hostedScript(): ScriptSource {
  let made: Promise<HostedScript> | undefined
  const make = async (): Promise<HostedScript> => {
    const { loadPulseScript } = await import('@bonded/widget/script')
    return loadPulseScript()
  }
  return {
    version: VERSION,
    load() {
      made ??= make().catch((failure: unknown) => {
        made = undefined
        throw failure
      })
      return made
    },
  }
}

const METRICS_HOST = '127.0.0.1'

async function carrierOf(operators: readonly OperatorSettings[]): Promise<CarrierProvider> {
  // Here, not above: who asks no operator does not wait for the library to load.
  const { camaraCarrier } = await import('../adapters/carrier/camara.ts')
  return camaraCarrier(operators, { clock: systemClock })
}

/** The meter, and the listener that shows it. */
async function openFigures(port: number): Promise<{ readonly meter: Meter } & AsyncDisposable> {
  // Here, not above: who asked for no figures does not wait for the library to load.
  const { prometheusMeter } = await import('../adapters/meter/prometheus-meter.ts')
  const { listenForMetrics } = await import('../adapters/meter/metrics-listener.ts')
  const meter = prometheusMeter({ version: VERSION })
  const listener = await listenForMetrics(meter, { host: METRICS_HOST, port })
  return {
    meter,
    async [Symbol.asyncDispose]() {
      await listener[Symbol.asyncDispose]()
      meter[Symbol.dispose]()
    },
  }
}

/** Ends orderly on the first SIGTERM or SIGINT; a second one ends at once. */
export function closeOnSignal(...running: readonly AsyncDisposable[]): void {
  const close = () => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => process.exit(1))
    void Promise.all(running.map((part) => part[Symbol.asyncDispose]())).finally(() => process.exit(0))
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, close)
}
