import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Logger } from 'pino'
import { rootKeysOf } from '../adapters/keys/root-key-file.ts'
import type { PassportTrust } from '../adapters/proofs/passport/passport-trust.ts'
import { proofsOf } from '../adapters/proofs/proofs.ts'
import { systemClock } from '../adapters/clock/system-clock.ts'
import { type Config, readConfig, type SettingFlags } from '../config.ts'
import type { Service } from '../operations/service.ts'
import type { Meter } from '../ports/meter.ts'
import type { CarrierProvider } from '../ports/proofs.ts'
import { VERSION } from '../version.ts'
import { closeService, composeService } from '../compose.ts'

/** What every command is given. */
export interface Options extends SettingFlags {
  readonly json?: boolean
}

/** A command that nobody waits behind can wait its turn beside a service that writes all the time. */
const WAIT_FOR_LOCK_MS = 5_000

interface GivenParts {
  readonly waitForLockMs?: number
  /** Only a service that listens has these. */
  readonly meter?: Meter
  readonly carrier?: CarrierProvider
  readonly passportTrust?: PassportTrust
  readonly log?: Logger
}

/** The service that the configuration describes, without listening. */
export function openService(config: Config, given: GivenParts = {}): Service {
  const { log, ...parts } = given
  mkdirSync(dirname(config.databaseFile), { recursive: true, mode: 0o700 })
  return composeService({
    databaseFile: config.databaseFile,
    rootKeys: rootKeysOf(config),
    settings: {
      publicOrigin: config.publicOrigin,
      appScheme: config.appScheme,
      version: VERSION,
      limits: config.limits,
      trustedProxies: config.trustedProxies,
    },
    clock: systemClock,
    proofs: proofsOf(config.phones, {
      origin: config.publicOrigin,
      clock: systemClock,
      fetch,
      onFetchFailure: (failure) =>
        log?.warn(
          { err: failure },
          'the list of revoked Android certificates is unavailable or incomplete',
        ),
    }),
    ...parts,
  })
}

/** Does something on the store that the configuration names, and closes it again. A service may be running on it. */
export async function withService<T>(
  options: SettingFlags,
  work: (service: Service) => Promise<T>,
): Promise<T> {
  const service = openService(readConfig(process.env, options), { waitForLockMs: WAIT_FOR_LOCK_MS })
  try {
    return await work(service)
  } finally {
    await closeService(service)
  }
}

/** Prints one JSON document, or the lines for a person. */
export function print(
  options: { readonly json?: boolean | undefined },
  document: unknown,
  lines: readonly string[],
): void {
  process.stdout.write(
    options.json === true ? `${JSON.stringify(document, null, 2)}\n` : `${lines.join('\n')}\n`,
  )
}
