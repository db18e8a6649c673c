import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { localBus } from './adapters/bus/local-bus.ts'
import { noCarrier } from './adapters/carrier/none.ts'
import { keyringOf } from './adapters/keys/keyring.ts'
import type { OpenStore } from '@bonded/store/postgres/open-postgres'
import { memoryLimiter } from './adapters/limiter/memory-limiter.ts'
import { SharedPeers } from './adapters/peers/shared-peers.ts'
import { systemRandom } from './adapters/keys/random.ts'
import type { RootKey } from '@bonded/core/domain/root-keys'
import { passportVerifier } from './adapters/attestation/passport/passport-verifier.ts'
import {
  NO_PASSPORT_TRUST,
  type PassportTrust,
} from './adapters/attestation/passport/passport-trust.ts'
import type { Attestation } from './adapters/attestation/attestation.ts'
import { migrate } from '@bonded/store/migrations/migrate'
import { SqliteStore } from '@bonded/store/sqlite/sqlite-store'
import { ClockGuard } from './clock-guard.ts'
import { startMaintenance } from './maintenance.ts'
import { WebhookSender } from './webhook-sender.ts'
import { PushSender } from './push-sender.ts'
import { pushTransport } from './adapters/push/push-transport.ts'
import { httpsTransport } from './adapters/webhooks/https-transport.ts'
import type { ScriptSource } from './http/pages/hosted-script.ts'
import type { LoadPhonePage } from './http/pages/phone-page.ts'
import type { AddPages } from './http/server.ts'
import { WakeUps } from '@bonded/core/collections/wake-ups'
import { preparePushKey } from '@bonded/core/operations/inbox/wake-phones'
import { CredentialUse } from '@bonded/core/collections/credential-use'
import { publishExternalChanges } from '@bonded/core/operations/maintenance/publish-external-changes'
import type { Service, Settings } from '@bonded/core/operations/service'
import type { Clock } from '@bonded/core/ports/clock'
import { type Meter, noMeter } from '@bonded/core/ports/meter'
import { NO_PEERS } from '@bonded/core/ports/peers'
import { connectionsThatFilesAllow } from './open-files.ts'
import { listeningHost } from './http-target.ts'
import { drainConnections, ShutdownSwitch } from './shutdown.ts'
import type { CarrierProvider } from '@bonded/core/ports/carrier'
import type { KeptCheckpoint } from '@bonded/core/ports/kept-checkpoint'
import type { Signer } from '@bonded/core/ports/signer'
import type { Store } from '@bonded/core/ports/store'
import type { Tracer } from '@bonded/core/ports/tracer'
import type { WebhookTransport } from '@bonded/core/ports/webhooks'
import type { PushTransport } from '@bonded/core/ports/push'
import type { Witness } from '@bonded/core/ports/witness'

export interface ServiceDependencies {
  readonly databaseFile: string
  /** Opens another store than SQLite at `databaseFile`. */
  readonly openStore?: OpenStore
  readonly rootKeys: readonly RootKey[]
  readonly settings: Settings
  readonly clock: Clock
  readonly attestation: Attestation
  /** Optional. Omit it to disable metrics. */
  readonly meter?: Meter
  /** Optional. Omit it to disable traces. */
  readonly tracer?: Tracer | undefined
  /** How long a write may wait for a lock of another process, in milliseconds. */
  readonly waitForLockMs?: number
  /** Optional. Omit it to disable carrier checks. */
  readonly carrier?: CarrierProvider
  /** Sends webhooks; by default over HTTPS. */
  readonly webhooks?: WebhookTransport
  /** Wakes phones; by default through the push services of their browsers. */
  readonly push?: PushTransport
  /** Signs receipts. Omit it to make none. */
  readonly receiptSigner?: Signer | undefined
  /** Where the node keeps what it knows of the log of receipts. Omit it where nothing is signed. */
  readonly keptCheckpoint?: KeptCheckpoint | undefined
  /** Cosign the log of receipts. */
  readonly witnesses?: readonly Witness[]
  /** The trusted passport issuers. Without them no passport is accepted. */
  readonly passportTrust?: PassportTrust
}

/** A service whose shutdown this process controls. */
export interface ComposedService extends Service {
  readonly shutdown: ShutdownSwitch
}

/** Composes the service without HTTP. The command line uses it directly. */
export function composeService(dependencies: ServiceDependencies): ComposedService {
  const {
    databaseFile,
    openStore,
    rootKeys,
    settings,
    clock,
    attestation,
    meter = noMeter,
    tracer,
    carrier = noCarrier,
    waitForLockMs,
    webhooks,
    push,
    receiptSigner,
    keptCheckpoint,
    witnesses = [],
    passportTrust = NO_PASSPORT_TRUST,
  } = dependencies
  const startedAt = clock.now()
  if (openStore === undefined) migrate(databaseFile, startedAt)
  const bus = localBus()
  const keys = keyringOf(rootKeys)
  const limiter = memoryLimiter(clock)
  const store: Store =
    openStore?.({ bus, meter }) ??
    new SqliteStore(databaseFile, {
      bus,
      meter,
      idKeys: keys.idKeys,
      ...(waitForLockMs === undefined ? {} : { waitForLockMs }),
    })
  const { messages } = store
  return {
    store,
    bus,
    meter,
    tracer,
    clock,
    keys,
    random: systemRandom(),
    limiter,
    credentialUse: new CredentialUse(),
    peers: messages ? new SharedPeers({ messages, limiter, keys, clock, meter }) : NO_PEERS,
    ...attestation,
    carrier,
    webhooks: webhooks ?? httpsTransport({ clock, hosts: settings.webhookHosts ?? [] }),
    push: push ?? pushTransport({ clock, hosts: settings.pushHosts ?? [] }),
    wakeUps: new WakeUps(),
    receiptSigner,
    keptCheckpoint,
    witnesses,
    passports: passportVerifier({ trust: passportTrust, keys, clock }),
    settings,
    shutdown: new ShutdownSwitch(),
    startedAt,
  }
}

/** Stops the worker threads, then closes the store. */
export async function closeService({
  passports,
  attestationVerifiers,
  store,
}: Service): Promise<void> {
  await Promise.all([passports[Symbol.asyncDispose](), attestationVerifiers[Symbol.asyncDispose]()])
  await store[Symbol.asyncDispose]()
}

/**
 * How many new connections the system queues while the service is busy. Beyond it a client tries
 * again after a second, so a short queue would let a flood of connections delay other clients.
 */
const ACCEPT_BACKLOG = 4_096

/** A listening service. */
export interface RunningService extends AsyncDisposable {
  readonly service: Service
  readonly app: FastifyInstance
  readonly port: number
}

/** Where the service listens. Fastify passes the descriptor to Node, which prefers it. */
function addressOf(given: { host: string; port: number; socket?: number | undefined }) {
  const { port, socket: fd } = given
  const host = listeningHost(given.host)
  return { host, port, backlog: ACCEPT_BACKLOG, ...(fd !== undefined && { fd }) }
}

/** Loads what listens. A command composes the service too, and starts in half the time without. */
async function loadHttp() {
  const { BODY_BUDGET_BYTES, buildServer } = await import('./http/server.ts')
  const { Channel, isChannelPath } = await import('./channel/channel.ts')
  const { requestLogger } = await import('./http/request-line.ts')
  const { ConnectionCaps } = await import('./http/connection/connection-caps.ts')
  return { BODY_BUDGET_BYTES, buildServer, Channel, isChannelPath, requestLogger, ConnectionCaps }
}

/**
 * Starts listening and the scheduled maintenance. Disposing the result drains the channels, then
 * closes the store.
 */
export async function startService(
  service: ComposedService,
  options: {
    host: string
    port: number
    /** The descriptor of a socket that listens already, instead of host and port. */
    socket?: number | undefined
    log: Logger
    script: ScriptSource
    phonePage: LoadPhonePage
    /** The memory budget of all request bodies in flight. Default: 64 MiB. */
    bodyBudgetBytes?: number
    /** How long it accepts requests on shutdown, while it is not ready. Default: 0. */
    drainMs?: number
    /** Adds the pages of a program around the service. Default: none. */
    addPages?: AddPages | undefined
  },
): Promise<RunningService> {
  const http = await loadHttp()
  const { log, bodyBudgetBytes = http.BODY_BUDGET_BYTES, drainMs = 0 } = options
  const logRequest = http.requestLogger(log, service)
  const caps = new http.ConnectionCaps({
    limits: service.settings.connections,
    trustedProxies: service.settings.trustedProxies,
    backendAddresses: service.settings.backendAddresses,
    peers: service.peers,
    systemLimit: connectionsThatFilesAllow(),
  })
  const app = http.buildServer(service, {
    ...options,
    bodyBudgetBytes,
    logRequest,
    caps,
    takesUpgrade: http.isChannelPath,
  })
  const channel = new http.Channel(service, {
    http: app.server,
    log,
    logRequest,
    // A page shows its QR code by the channel, so a channel ranks above the creation of sessions.
    admits: (socket) => caps.admitsChannel(socket) && !app.admissionQueue.isOverloaded('begun'),
  })
  const guard = new ClockGuard(service.clock, (stepMs) =>
    log.warn({ step_ms: stepMs }, 'the clock and the time elapsed disagree'),
  )
  service.meter.watch({
    clockStepMs: () => guard.stepMs(),
    openChannels: () => channel.size,
    connections: () => caps.counts,
    waitingRequests: () => app.admissionQueue.size(),
  })
  const stopBackground = startMaintenance(service, { log, guard })
  const senders = [new WebhookSender(service, log, guard), new PushSender(service, log, guard)]
  try {
    // The first read begins to follow other nodes and commands. A channel that opens before it
    // would miss what they change in between, and could wait until its session expires.
    await Promise.all([publishExternalChanges(service), preparePushKey(service)])
    await app.listen(addressOf(options))
  } catch (failure) {
    stopBackground()
    await Promise.all(senders.map((each) => each[Symbol.asyncDispose]()))
    await channel[Symbol.asyncDispose]()
    await closeService(service)
    throw failure
  }
  return {
    service,
    app,
    port: (app.server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      await drainConnections({ app, channel, shutdown: service.shutdown, drainMs })
      stopBackground()
      await Promise.all(senders.map((each) => each[Symbol.asyncDispose]()))
      await closeService(service)
    },
  }
}
