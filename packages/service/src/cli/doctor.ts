import { existsSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { Command } from 'commander'
import { rootKeysOf } from '../adapters/keys/root-key-file.ts'
import { systemClock } from '../adapters/clock/system-clock.ts'
import { migrationStates } from '../adapters/sql/migrate.ts'
import { quickCheck } from '../adapters/sql/quick-check.ts'
import { lockForServing, StoreInUse } from '../adapters/sql/serving-lock.ts'
import { MIN_FREE_BYTES } from '../adapters/sql/sqlite-store.ts'
import { type Config, readConfig } from '../config.ts'
import { OperatorError } from '../operations/admin/tenants.ts'
import { explain } from './explain.ts'
import { type Options, print } from './open.ts'

/** What was looked at, whether a service can work with it, and what was found or has to be mended. */
interface Finding {
  readonly check: string
  readonly ok: boolean
  readonly says: string
}

/** Looks at one thing. What it throws is what keeps a service from its work. */
type Look = (config: Config) => string | Promise<string>

const LOOKS: readonly (readonly [check: string, look: Look])[] = [
  ['root keys', checkRootKeys],
  ['database', checkDatabase],
  ['disk', checkDisk],
  ['passport trust', checkPassportTrust],
  ['service', checkService],
]

const BYTES_A_MIB = 1024 * 1024
/** A service that runs answers within a round trip; one that does not is told as it is. */
const READINESS_TIMEOUT_MS = 2_000

/** `bonded doctor`: all that would keep a service from its work here, at once. */
export function doctorCommand(): Command {
  return new Command('doctor')
    .description(
      'Looks at all that a service needs here: settings, keys, database, disk, port, readiness. Changes nothing.',
    )
    .option('--json', 'print JSON')
    .action(async (options: Options) => {
      // Without settings there is nothing to look at: their mistakes are told as for every command.
      const config = readConfig(process.env, options)
      const findings: Finding[] = [
        { check: 'settings', ok: true, says: `${config.environment}, ${config.publicOrigin}` },
      ]
      for (const [check, look] of LOOKS) findings.push(await finding(check, () => look(config)))
      const width = Math.max(...findings.map(({ check }) => check.length))
      const ok = findings.every((found) => found.ok)
      print(
        options,
        { ok, findings },
        findings.map(
          (found) =>
            `${found.ok ? 'ok     ' : 'PROBLEM'}  ${found.check.padEnd(width)}  ${found.says}`,
        ),
      )
      if (!ok) process.exitCode = 1
    })
}

async function finding(check: string, look: () => string | Promise<string>): Promise<Finding> {
  try {
    return { check, ok: true, says: await look() }
  } catch (failure) {
    return { check, ok: false, says: explain(failure).text }
  }
}

function checkRootKeys(config: Config): string {
  // Asking for keys that are not there would make them.
  if (config.rootKeys === undefined && !existsSync(join(config.dataDir, 'root.key')))
    return `none yet: the first start makes one in ${config.dataDir}`
  const keys = rootKeysOf(config)
  return `${keys.map(({ id }) => id).join(', ')}; the first makes, all verify`
}

function checkDatabase({ databaseFile }: Config): string {
  if (!existsSync(databaseFile)) return `none yet: the first start makes ${databaseFile}`
  quickCheck(databaseFile)
  const pending = migrationStates(databaseFile).filter(({ appliedAt }) => appliedAt === null)
  return `${databaseFile} hangs together; ${pending.length === 0 ? 'its schema is current' : `${pending.length} steps to apply: the next start does`}`
}

async function checkDisk({ databaseFile }: Config): Promise<string> {
  let folder = dirname(databaseFile)
  while (!existsSync(folder)) folder = dirname(folder)
  const { bavail, bsize } = await statfs(folder)
  const free = `${Math.floor((bavail * bsize) / BYTES_A_MIB)} MiB free in ${folder}`
  if (bavail * bsize < MIN_FREE_BYTES)
    throw new OperatorError(
      `Only ${free}: a service wants ${MIN_FREE_BYTES / BYTES_A_MIB} MiB. Make room, or move BONDED_DATA_DIR.`,
    )
  return free
}

async function checkPassportTrust({ cscaDir }: Config): Promise<string> {
  if (!existsSync(cscaDir)) return `no folder ${cscaDir}: passports prove nothing`
  const { readTrustFolder } = await import('../adapters/proofs/passport/trust-folder.ts')
  readTrustFolder(cscaDir, systemClock.now())
  return `${cscaDir} can be read`
}

/** A service that runs on this file is asked itself; without one, its place must be free. */
async function checkService(config: Config): Promise<string> {
  const { host, port } = config
  if (isServed(config)) {
    const answer = await fetch(`http://${host}:${port}/health/ready`, {
      signal: AbortSignal.timeout(READINESS_TIMEOUT_MS),
    }).catch(() => undefined)
    if (answer === undefined)
      throw new OperatorError(
        `A service works on this database, but does not answer on ${host}:${port}. Is it started with other settings?`,
      )
    if (!answer.ok)
      throw new OperatorError(
        `The service on ${host}:${port} runs and is not ready: ${await answer.text()}`,
      )
    return `runs on ${host}:${port} and is ready`
  }
  await listenOnce(host, port)
  return `none runs here; ${host}:${port} is free`
}

function isServed({ databaseFile }: Config): boolean {
  // Taking the lock makes its file, so it is tried only where somebody has made it.
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
  server.listen(port, host, () => server.close(() => resolve()))
  await promise
}
