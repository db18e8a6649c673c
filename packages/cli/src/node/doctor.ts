import { existsSync } from 'node:fs'
import { readdir, stat, statfs } from 'node:fs/promises'
import { createServer, isIPv6 } from 'node:net'
import { dirname, join } from 'node:path'
import { Command } from 'commander'
import { systemClock } from '@bonded/store/clock/system-clock'
import type { MigrationState } from '@bonded/store/migrations/migrate'
import type { PostgresSettings } from '@bonded/store/postgres/server/connections'
import { quickCheck } from '@bonded/store/sqlite/quick-check'
import { lockForServing, StoreInUse } from '@bonded/store/sqlite/serving-lock'
import { MIN_FREE_BYTES } from '@bonded/store/sqlite/sqlite-store'
import type { Config } from '@bonded/server/settings/config'
import { OperatorError } from '@bonded/core/operations/admin/operator-error'
import { reportNodes } from '@bonded/core/operations/maintenance/node-levels'
import { reportWakeUps } from '@bonded/core/operations/admin/report-wake-ups'
import { sharedSettings } from '@bonded/server/settings/shared-settings'
import { listeningHost } from '@bonded/server/http-target'
import type { Check, DoctorOptions, Finding, Summary } from './doctor-check.ts'
import { reportOperators } from './doctor-operators.ts'
import {
  checkBrowserProof,
  checkCompletions,
  checkPasskeys,
  checkReceipts,
  checkStored,
  checkWebhooks,
} from './doctor-stored.ts'
import { explain } from '../program/explain.ts'
import { stepsOf } from '../database/migrate.ts'
import { type Known, LOOKS, outsideOf } from './outside/look.ts'
import { print } from '../program/output.ts'
import { readServiceConfig } from '../program/service-config.ts'
import { StoredService } from './stored-service.ts'

const CHECKS: readonly (readonly [name: string, check: Check])[] = [
  ['root keys', checkRootKeys],
  ['database', checkDatabase],
  ['passkeys', checkPasskeys],
  ['browser proof', checkBrowserProof],
  ['completions', checkCompletions],
  ['webhooks', checkWebhooks],
  ['wake-ups', (...given) => checkStored(given, 'No phone has subscribed.', reportWakeUps)],
  ['operators', (...given) => checkStored(given, 'No entries yet.', reportOperators(given[0]))],
  ['nodes', (...given) => checkStored(given, 'No node sends messages.', reportNodes)],
  ['receipts', checkReceipts],
  ['disk', checkDisk],
  ['passport trust', checkPassportTrust],
  ['service', checkService],
  ['operation', checkOperation],
]

const BYTES_PER_MIB = 1024 * 1024
const READINESS_TIMEOUT_MS = 2_000
const MS_AN_HOUR = 3_600_000
const MAX_WARNINGS = 10
/** A daily backup, with time to run. */
const MAX_BACKUP_HOURS = 26

/** `bonded doctor`: reports every problem that would stop a service on this machine. */
export function doctorCommand(): Command {
  return new Command('doctor')
    .description(
      'Check settings, keys, database, disk, port and readiness on this machine, and look at the service through its public origin (read-only)',
    )
    .option('--backups <folder>', 'where the backups are, to check their age')
    .action(async (options: DoctorOptions) => {
      // Without valid settings there is nothing to check; their mistakes are reported as usual.
      const config = await readServiceConfig(options)
      const findings: Finding[] = [
        { check: 'settings', ok: true, says: `${config.environment}, ${config.publicOrigin}` },
      ]
      await using stored = new StoredService(config)
      const checked = CHECKS.map(([name, check]) => run(name, () => check(config, options, stored)))
      findings.push(...(await Promise.all(checked)))
      const lookAt = await outsideOf(await knownOf(config, stored))
      for (const [name, look] of LOOKS) findings.push(await run(name, () => lookAt(look)))
      const width = Math.max(...findings.map(({ check }) => check.length))
      const problems = findings.filter((finding) => !finding.ok).length
      const ok = problems === 0
      const error = { code: 'problems_found', message: `${problems} checks found a problem.` }
      print(
        options,
        { ok, findings, ...(ok ? {} : { error }) },
        findings.flatMap(({ check, ok, skipped, says, warnings = [] }) => [
          `${skipped ? 'skipped' : ok ? 'ok     ' : 'PROBLEM'}  ${check.padEnd(width)}  ${says}`,
          ...shortOf(warnings).map((warning) => `warning  ${check.padEnd(width)}  ${warning}`),
        ]),
      )
      if (!ok) process.exitCode = 1
    })
}

/** Enough to act on. Of 10,000 tenants, each can have the same one. */
function shortOf(warnings: readonly string[]): readonly string[] {
  const others = warnings.length - MAX_WARNINGS
  return others > 0
    ? [...warnings.slice(0, MAX_WARNINGS), `And ${others} more: run bonded doctor --json.`]
    : warnings
}

async function run(name: string, check: () => Summary | Promise<Summary>): Promise<Finding> {
  try {
    const summary = await check()
    return { check: name, ok: true, ...(typeof summary === 'string' ? { says: summary } : summary) }
  } catch (failure) {
    return { check: name, ok: false, says: explain(failure).message }
  }
}

async function checkRootKeys({ rootKeys, dataDir }: Config): Promise<string> {
  // Reading missing keys would generate them.
  if (!rootKeys.exists()) return `No root key yet. The first start generates one in ${dataDir}.`
  const [active, ...others] = (await rootKeys.load()).map(({ id }) => id)
  if (others.length === 0) return `Active key: ${active}.`
  return `Active key: ${active}. Verification only: ${others.join(', ')}.`
}

async function checkDatabase(config: Config): Promise<string> {
  const { databaseFile, postgres } = config
  if (postgres !== undefined) {
    const states = await stepsOf(config)
    await compareSettings(postgres, { config, states })
    return `${postgres.address.shown} is usable. ${schemaOf(states)} ${await rightsOn(postgres)}`
  }
  if (!existsSync(databaseFile)) return `No database yet. The first start creates ${databaseFile}.`
  quickCheck(databaseFile)
  return `Database integrity check passed for ${databaseFile}. ${schemaOf(await stepsOf(config))}`
}

/** What the role may do, because nodes need less than a migration. */
async function rightsOn(settings: PostgresSettings): Promise<string> {
  const { withConnections } = await import('@bonded/store/postgres/open-postgres')
  const { schemaRights } = await import('@bonded/store/postgres/runtime-rights')
  const { role, mayMigrate } = await withConnections(settings, (connections) =>
    connections.run(schemaRights),
  )
  return mayMigrate
    ? `The role ${role} can change the schema.`
    : `The role ${role} can change rows only.`
}

/** Fails if other nodes run with other settings. */
async function compareSettings(
  settings: PostgresSettings,
  { config, states }: { config: Config; states: readonly MigrationState[] },
): Promise<void> {
  if (states.some(({ appliedAt }) => appliedAt === null)) return
  const { withConnections } = await import('@bonded/store/postgres/open-postgres')
  const { rejectOtherSettings } = await import('@bonded/store/postgres/node-settings')
  const shared = sharedSettings(config)
  await withConnections(settings, (connections) => rejectOtherSettings(connections, shared))
}

function schemaOf(states: readonly MigrationState[]): string {
  const pending = states.filter(({ appliedAt }) => appliedAt === null)
  return pending.length === 0
    ? 'The schema is current.'
    : `${pending.length} migrations are pending; bonded migrate up, or the next start with a role that can change the schema, applies them.`
}

async function checkDisk({ databaseFile, dataDir, postgres }: Config): Promise<string> {
  let folder = postgres === undefined ? dirname(databaseFile) : dataDir
  while (!existsSync(folder)) folder = dirname(folder)
  const { bavail, bsize } = await statfs(folder)
  const free = `${Math.floor((bavail * bsize) / BYTES_PER_MIB)} MiB free in ${folder}`
  if (bavail * bsize < MIN_FREE_BYTES)
    throw new OperatorError(
      `Only ${free}; a service needs ${MIN_FREE_BYTES / BYTES_PER_MIB} MiB. Free some space, or set BONDED_DATA_DIR to another disk.`,
    )
  return `${free}.`
}

async function checkPassportTrust({ cscaDir }: Config): Promise<string> {
  if (!existsSync(cscaDir)) return `No folder ${cscaDir}. Passport evidence is not verified.`
  const { readTrustFolder } = await import(
    '@bonded/server/adapters/attestation/passport/trust-folder'
  )
  readTrustFolder(cscaDir, systemClock.now())
  return `${cscaDir} is readable.`
}

/** Warns of what a service can run without, and its operator misses after an incident. */
async function checkOperation(config: Config, { backups }: DoctorOptions): Promise<Summary> {
  const isSandbox = config.environment !== 'production'
  if (isSandbox && backups === undefined) return 'Nothing is required in the sandbox.'
  const warnings: string[] = []
  if (!isSandbox && config.receiptKeys === undefined)
    warnings.push(
      'Receipts are off. Set BONDED_RECEIPT_KEYS, so that each approval has a proof, and the audit log has checkpoints.',
    )
  if (!isSandbox && config.metricsPort === undefined)
    warnings.push('Metrics are off, so no alert can fire. Set BONDED_METRICS_PORT.')
  warnings.push(...[await backupWarning(backups)].filter((one) => one !== undefined))
  return { says: `Warnings: ${warnings.length}.`, warnings }
}

/** The newest file counts, whatever its name: a listing of a bucket can be synchronized here. */
async function backupWarning(folder: string | undefined): Promise<string | undefined> {
  if (folder === undefined) return 'Backups are not checked. Name their folder with --backups.'
  const files = await readdir(folder, { withFileTypes: true }).catch(() => undefined)
  if (files === undefined) return `${folder} cannot be read, so its backups are not checked.`
  const stats = await Promise.all(
    files.filter((file) => file.isFile()).map(({ name }) => stat(join(folder, name))),
  )
  const newest = Math.max(...stats.map(({ mtimeMs }) => mtimeMs))
  if (newest === -Infinity) return `${folder} has no backup. Run bonded backup.`
  const hours = Math.floor((systemClock.now() - newest) / MS_AN_HOUR)
  return hours > MAX_BACKUP_HOURS
    ? `The newest backup in ${folder} is ${hours} hours old. Check the job that runs bonded backup.`
    : undefined
}

/** What this machine knows of the service, for a look from outside. */
async function knownOf(config: Config, stored: StoredService): Promise<Known> {
  const known = {
    config,
    runsHere: (await readReadiness(config)) !== undefined,
    now: systemClock.now(),
    receiptKeys: undefined,
    tenantId: undefined,
  }
  const service = await stored.service()
  if (service === undefined) return known
  const [tenant] = await service.store.read((tables) => tables.tenants.list())
  const receiptKeys = service.receiptSigner?.publicKeys
  return { ...known, receiptKeys, tenantId: tenant?.id }
}

/** Queries the service that runs on this machine; without one, its port must be free. */
async function checkService(config: Config): Promise<string> {
  const { host, port, postgres } = config
  // No lock tells which nodes run on PostgreSQL, so the port does.
  const mayRun = postgres !== undefined || isServed(config)
  const readiness = mayRun ? await readReadiness(config) : undefined
  if (readiness?.isReady === true) return `The service on ${host}:${port} is ready.`
  if (readiness !== undefined)
    throw new OperatorError(
      `The service on ${host}:${port} runs but is not ready: ${readiness.text}`,
    )
  if (mayRun && postgres === undefined)
    throw new OperatorError(
      `A service runs on this database but does not answer on ${host}:${port}. Run bonded doctor with the settings of that service.`,
    )
  if ((await readReadiness(config)) !== undefined)
    throw new OperatorError(
      `The service on ${host}:${port} runs on another database. Run bonded doctor with the settings of that service.`,
    )
  await listenOnce(host, port)
  return `No service is running. ${host}:${port} is free.`
}

/** Returns undefined if no service responds. Another program can have the port. */
async function readReadiness({
  host,
  port,
}: Config): Promise<{ readonly isReady: boolean; readonly text: string } | undefined> {
  const isAnyAddress = host === '0.0.0.0' || host === '::'
  const reached = isAnyAddress ? '127.0.0.1' : isIPv6(host) ? `[${host}]` : host
  try {
    const response = await fetch(`http://${reached}:${port}/health/ready`, {
      signal: AbortSignal.timeout(READINESS_TIMEOUT_MS),
    })
    const text = await response.text()
    return response.headers.has('x-request-id') ? { isReady: response.ok, text } : undefined
  } catch {
    return undefined
  }
}

function isServed({ databaseFile }: Config): boolean {
  // Taking the lock creates its file, so it is tried only where a service has created it.
  if (!existsSync(`${databaseFile}.lock`)) return false
  try {
    lockForServing(databaseFile)[Symbol.dispose]()
    return false
  } catch (failure) {
    if (failure instanceof StoreInUse) return true
    throw failure
  }
}

async function listenOnce(host: string, port: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const server = createServer()
  server.once('error', reject)
  server.listen(port, listeningHost(host), () => server.close(() => resolve()))
  await promise
}
