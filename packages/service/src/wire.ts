import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { localBus } from './adapters/bus/local-bus.ts'
import { noCarrier } from './adapters/carrier/none.ts'
import { keyringOf } from './adapters/keys/keyring.ts'
import { systemRandom } from './adapters/keys/random.ts'
import type { RootKey } from './adapters/keys/root-keys.ts'
import { appAssertionVerifier } from './adapters/proofs/app-assertion.ts'
import { softwareRegistrar } from './adapters/proofs/software.ts'
import { migrate } from './adapters/sql/migrate.ts'
import { SqliteStore } from './adapters/sql/sqlite-store.ts'
import { Channel, isChannelPath } from './channel/channel.ts'
import type { HostedScript } from './http/pages.ts'
import { buildServer } from './http/server.ts'
import { expireSessions, forgetSessions } from './operations/expire-sessions.ts'
import type { Service, Settings } from './operations/service.ts'
import type { Clock } from './ports/clock.ts'

/** Watchers are told of an expiry when it happens; this is for the rest. */
const SWEEP_EVERY_MS = 1_000
const FORGET_EVERY_MS = 60_000

export interface ServiceParts {
  readonly databaseFile: string
  readonly rootKeys: readonly RootKey[]
  readonly settings: Settings
  readonly clock: Clock
}

/** The service without its HTTP side: what the command line works on. */
export function wireService({ databaseFile, rootKeys, settings, clock }: ServiceParts): Service {
  migrate(databaseFile, clock.now())
  const bus = localBus()
  return {
    store: new SqliteStore(databaseFile, bus),
    bus,
    clock,
    keys: keyringOf(rootKeys),
    random: systemRandom(),
    verifiers: { software: appAssertionVerifier, 'android-key': appAssertionVerifier },
    registrar: softwareRegistrar,
    carrier: noCarrier,
    settings,
  }
}

/** A service that listens. */
export interface RunningService extends AsyncDisposable {
  readonly service: Service
  readonly app: FastifyInstance
  readonly port: number
}

/** Starts listening and the background work. Disposing it drains the channels, then closes the store. */
export async function startService(
  service: Service,
  options: { host: string; port: number; log: Logger; script: HostedScript },
): Promise<RunningService> {
  const app = buildServer(service, { script: options.script, log: options.log, takesUpgrade: isChannelPath })
  const channel = new Channel(service, app.server)
  const background = [
    repeat(service.clock, SWEEP_EVERY_MS, () => expireSessions(service), options.log),
    repeat(service.clock, FORGET_EVERY_MS, () => forgetSessions(service), options.log),
  ]
  try {
    await app.listen({ host: options.host, port: options.port })
  } catch (failure) {
    for (const stop of background) stop()
    channel[Symbol.dispose]()
    await service.store[Symbol.asyncDispose]()
    throw failure
  }
  const { port } = app.server.address() as AddressInfo
  return {
    service,
    app,
    port,
    async [Symbol.asyncDispose]() {
      for (const stop of background) stop()
      channel[Symbol.dispose]()
      await app.close()
      await service.store[Symbol.asyncDispose]()
    },
  }
}

/** Does the work again and again, the next time only after the last has ended. */
function repeat(clock: Clock, everyMs: number, work: () => Promise<unknown>, log: Logger): () => void {
  let stopped = false
  let cancel = () => {}
  const schedule = () => {
    if (stopped) return
    cancel = clock.schedule(clock.now() + everyMs, () => {
      work()
        .catch((failure: unknown) => log.error({ err: failure }, 'background work failed'))
        .finally(schedule)
    })
  }
  schedule()
  return () => {
    stopped = true
    cancel()
  }
}
