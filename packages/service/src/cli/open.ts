import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Logger } from 'pino'
import { refuseUnfinishedCopy } from '../adapters/backup/restoring-copy.ts'
import { keyringOf } from '../adapters/keys/keyring.ts'
import { rootKeysOf } from '../adapters/keys/root-key-file.ts'
import type { PassportTrust } from '../adapters/attestation/passport/passport-trust.ts'
import { createAttestation } from '../adapters/attestation/attestation.ts'
import { realName } from '../adapters/sql/real-name.ts'
import type { PostgresSettings } from '../adapters/sql/postgres/server/connections.ts'
import type { OpenStore } from '../adapters/sql/postgres/open-postgres.ts'
import { systemClock } from '../adapters/clock/system-clock.ts'
import { type Config, readConfig, type SettingFlags } from '../config.ts'
import type { Service } from '../operations/service.ts'
import type { Clock } from '../ports/clock.ts'
import type { Meter } from '../ports/meter.ts'
import type { Tracer } from '../ports/tracer.ts'
import type { CarrierProvider } from '../ports/carrier.ts'
import { sharedSettings } from '../shared-settings.ts'
import { VERSION } from '../version.ts'
import { closeService, type ComposedService, composeService } from '../compose.ts'

/** The options of every command. */
export interface Options extends SettingFlags {
  readonly json?: boolean
}

/** No caller waits for a command, so it may wait longer than a service for its turn to write. */
const WAIT_FOR_LOCK_MS = 5_000

interface ServiceParts {
  readonly waitForLockMs?: number
  /** Only a service that listens needs these. */
  readonly meter?: Meter
  readonly tracer?: Tracer
  readonly carrier?: CarrierProvider
  readonly passportTrust?: PassportTrust
  readonly log?: Logger
  /** Set by the command that restores the database, which others must not open yet. */
  readonly restores?: boolean
  /** Whether it will serve, beside other nodes with the same settings. */
  readonly serves?: boolean
}

/**
 * Opens the service that the configuration describes, without listening.
 *
 * @throws {StoreError} if the database cannot be used
 */
export async function openService(
  config: Config,
  given: ServiceParts = {},
): Promise<ComposedService> {
  const { log, restores, serves, ...parts } = given
  const { postgres, databaseFile } = config
  if (postgres === undefined) {
    mkdirSync(dirname(databaseFile), { recursive: true, mode: 0o700 })
    refuseUnfinishedCopy(realName(databaseFile))
  }
  const database = postgres && (await openDatabase(postgres, { config, log, restores, serves }))
  const clock = database?.clock ?? systemClock
  return composeService({
    databaseFile,
    ...(database && { openStore: database.openStore }),
    rootKeys: rootKeysOf(config),
    settings: {
      publicOrigin: config.publicOrigin,
      rpId: config.rpId,
      appScheme: config.appScheme,
      qrContent: config.qrContent,
      appLinks: config.appLinks,
      version: VERSION,
      limits: config.limits,
      deviceTokenTtlMs: config.deviceTokenTtlMs,
      trustedProxies: config.trustedProxies,
      connections: config.connections,
      backendAddresses: config.backendAddresses,
    },
    clock,
    attestation: createAttestation(config.phones, {
      origin: config.publicOrigin,
      rpId: config.rpId,
      clock,
      fetch,
      onFetchFailure: (failure) =>
        log?.warn(
          { err: failure },
          'the revocation list of Android certificates is unavailable or incomplete',
        ),
    }),
    ...parts,
  })
}

/** Opens a PostgreSQL database, and a clock that follows its clock. */
async function openDatabase(
  settings: PostgresSettings,
  {
    config,
    log,
    restores = false,
    serves = false,
  }: {
    config: Config
    log: Logger | undefined
    restores?: boolean | undefined
    serves?: boolean | undefined
  },
): Promise<{ readonly openStore: OpenStore; readonly clock: Clock }> {
  // Loaded here, because a service on SQLite does not need them.
  const { openPostgres } = await import('../adapters/sql/postgres/open-postgres.ts')
  const { DatabaseClock } = await import('../adapters/clock/database-clock.ts')
  const { idKeys } = keyringOf(rootKeysOf(config))
  const clock = new DatabaseClock({
    onDifference: (aheadMs) =>
      log?.warn(
        { ahead_ms: Math.round(aheadMs) },
        'the clock of this machine differs from that of the database, which the service uses',
      ),
  })
  const now = systemClock.now()
  const shared = serves ? sharedSettings(config) : undefined
  const openStore = await openPostgres(settings, { now, clock, idKeys, restores, shared })
  return { openStore, clock }
}

/**
 * Runs `work` on the configured database and closes it. A service may be running on the same file.
 */
export async function withService<T>(
  options: SettingFlags,
  work: (service: Service) => Promise<T>,
): Promise<T> {
  const service = await openService(readConfig(process.env, options), {
    waitForLockMs: WAIT_FOR_LOCK_MS,
  })
  try {
    return await work(service)
  } finally {
    await closeService(service)
  }
}
