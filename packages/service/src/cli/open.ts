import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Logger } from 'pino'
import { keyringOf } from '../adapters/keys/keyring.ts'
import { rootKeysOf } from '../adapters/keys/root-key-file.ts'
import type { PassportTrust } from '../adapters/attestation/passport/passport-trust.ts'
import { createAttestation } from '../adapters/attestation/attestation.ts'
import type { PostgresSettings } from '../adapters/sql/postgres/server/connections.ts'
import type { OpenStore } from '../adapters/sql/postgres/open-postgres.ts'
import { systemClock } from '../adapters/clock/system-clock.ts'
import { type Config, readConfig, type SettingFlags } from '../config.ts'
import type { Service } from '../operations/service.ts'
import type { Meter } from '../ports/meter.ts'
import type { Tracer } from '../ports/tracer.ts'
import type { CarrierProvider } from '../ports/carrier.ts'
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
  const { log, ...parts } = given
  const { postgres, databaseFile } = config
  if (postgres === undefined) mkdirSync(dirname(databaseFile), { recursive: true, mode: 0o700 })
  const openStore = postgres && (await storeOn(postgres, config))
  return composeService({
    databaseFile,
    ...(openStore && { openStore }),
    rootKeys: rootKeysOf(config),
    settings: {
      publicOrigin: config.publicOrigin,
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
    clock: systemClock,
    attestation: createAttestation(config.phones, {
      origin: config.publicOrigin,
      clock: systemClock,
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

async function storeOn(settings: PostgresSettings, config: Config): Promise<OpenStore> {
  // Loaded here, because a service on SQLite does not need it.
  const { openPostgres } = await import('../adapters/sql/postgres/open-postgres.ts')
  const { idKeys } = keyringOf(rootKeysOf(config))
  return openPostgres(settings, { now: systemClock.now(), idKeys })
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
