import { mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Logger } from 'pino'
import { rejectUnfinishedCopy } from '@bonded/store/backup/restoring-copy'
import { keyringOf } from '@bonded/server/adapters/keys/keyring'
import { witnessClient } from '@bonded/server/adapters/witness/witness-client'
import { checkpointFile } from '@bonded/server/adapters/signer/checkpoint-file'
import { receiptSignerOf } from '@bonded/server/adapters/signer/receipt-signer'
import type { PassportTrust } from '@bonded/server/adapters/attestation/passport/passport-trust'
import { createAttestation } from '@bonded/server/adapters/attestation/attestation'
import { rejectServedByOlder } from '@bonded/store/migrations/migrate'
import { realName } from '@bonded/store/sqlite/real-name'
import type { PostgresSettings } from '@bonded/store/postgres/server/connections'
import type { OpenStore } from '@bonded/store/postgres/open-postgres'
import { systemClock } from '@bonded/store/clock/system-clock'
import { auditedService, readingService, recordAction } from '@bonded/core/operations/audit/audit'
import type { AuditedAction } from '@bonded/core/domain/audit'
import { OperatorError } from '@bonded/core/operations/admin/operator-error'
import { StoreError } from '@bonded/core/ports/store'
import type { Config, SettingFlags } from '@bonded/server/settings/config'
import type { Service } from '@bonded/core/operations/service'
import type { Clock } from '@bonded/core/ports/clock'
import type { Meter } from '@bonded/core/ports/meter'
import type { Tracer } from '@bonded/core/ports/tracer'
import type { CarrierProvider } from '@bonded/core/ports/carrier'
import type { WebhookTransport } from '@bonded/core/ports/webhooks'
import { sharedSettings } from '@bonded/server/settings/shared-settings'
import { VERSION } from '@bonded/server/version'
import { closeService, type ComposedService, composeService } from '@bonded/server/compose'
import { type AuditedCall, callOf, type CommandCall } from './audited.ts'
import { explain } from './explain.ts'
import { readServiceConfig } from './service-config.ts'

/** The options of every command. */
export interface Options extends SettingFlags {
  readonly json?: boolean
  /** Set for each command that an operator runs. */
  readonly audited?: CommandCall
}

/** No caller waits for a command, so it may wait longer than a service for its turn to write. */
const WAIT_FOR_LOCK_MS = 5_000

interface ServiceParts {
  /** Default: the machine's, or with PostgreSQL one that follows the database's. */
  readonly clock?: Clock
  readonly waitForLockMs?: number
  /** Only a service that listens needs these. */
  readonly meter?: Meter
  readonly tracer?: Tracer
  readonly carrier?: CarrierProvider
  readonly webhooks?: WebhookTransport
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
    rejectUnfinishedCopy(realName(databaseFile))
  }
  const database = postgres && (await openDatabase(postgres, { config, log, restores, serves }))
  const clock = given.clock ?? database?.clock ?? systemClock
  return composeService({
    databaseFile,
    ...(database && { openStore: database.openStore }),
    rootKeys: await config.rootKeys.load(),
    receiptSigner: receiptSignerOf(config),
    ...(serves && {
      keptCheckpoint: checkpointFile(
        config.receiptCheckpoint ?? join(config.dataDir, 'receipt-log.checkpoint'),
      ),
    }),
    witnesses: config.witnesses.map((witness) => witnessClient(witness, clock)),
    settings: {
      publicOrigin: config.publicOrigin,
      rpId: config.rpId,
      appScheme: config.appScheme,
      relatedOrigins: config.relatedOrigins,
      qrContent: config.qrContent,
      appLinks: config.appLinks,
      version: VERSION,
      limits: config.limits,
      deviceTokenTtlMs: config.deviceTokenTtlMs,
      trustedProxies: config.trustedProxies,
      connections: config.connections,
      backendAddresses: config.backendAddresses,
      webhookHosts: config.webhookHosts,
      pushHosts: config.pushHosts,
      rejectionRetentionMs: config.rejectionRetentionMs,
      retentionBounds: config.retentionBounds,
      receiptRetentionMs: config.receiptRetentionMs,
      logRetentionMs: config.logRetentionMs,
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
  const { openPostgres } = await import('@bonded/store/postgres/open-postgres')
  const { DatabaseClock } = await import('@bonded/store/clock/database-clock')
  const { idKeys } = keyringOf(await config.rootKeys.load())
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

/** Opens the configured database for an operator. A service may be running on the same file. */
export async function openBeside(
  config: Config,
  given: Pick<ServiceParts, 'clock' | 'log'> = {},
): Promise<ComposedService> {
  if (config.postgres === undefined) rejectServedByOlder(config.databaseFile)
  return openService(config, { ...given, waitForLockMs: WAIT_FOR_LOCK_MS })
}

/**
 * Runs `work` on the configured database and closes it. A service may be running on the same file.
 * The audit log records it as the class of the command demands.
 */
export async function withService<T>(
  options: Options,
  work: (service: Service) => Promise<T>,
  given: Pick<ServiceParts, 'clock'> = {},
): Promise<T> {
  const config = await readServiceConfig(options)
  const audited = options.audited && callOf(options.audited, config)
  const service = await openBeside(config, given)
  try {
    return await runRecorded(service, audited, work)
  } finally {
    await closeService(service)
  }
}

/** Runs `work`, which the audit log records as its class demands. */
export async function runRecorded<T>(
  service: Service,
  audited: AuditedCall | undefined,
  work: (service: Service) => Promise<T>,
): Promise<T> {
  if (audited === undefined) return work(service)
  const { auditClass, action } = audited
  if (auditClass !== 'changes') {
    // Before the data is read, because a command can print what it reads at once.
    if (auditClass === 'reads_person') await recordAction(service, action)
    return work(readingService(service, { action: action.action, auditClass }))
  }
  try {
    // What the history of a device or a session says about it has the same reference.
    const store = service.store.during({ requestId: action.requestId, keyId: null })
    return await work(auditedService({ ...service, store }, action))
  } catch (failure) {
    if (failure instanceof OperatorError) await recordAction(service, action, failure.code)
    else if (failure instanceof StoreError && failure.kind === 'rejected')
      await recordAttempt(service, action, explain(failure).code)
    throw failure
  }
}

/** A role without the right to make a change can usually record the attempt. */
async function recordAttempt(
  service: Service,
  action: AuditedAction,
  result: string,
): Promise<void> {
  try {
    await recordAction(service, action, result)
  } catch (failure) {
    // The operator has to read the failure of the command, which is the cause of this one too.
    if (!(failure instanceof StoreError)) throw failure
    process.stderr.write('warning: the audit log has no entry of this attempt.\n')
  }
}
