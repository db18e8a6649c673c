import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { keptRootKeys } from '../adapters/keys/root-key-file.ts'
import { parseRootKeys } from '../adapters/keys/root-keys.ts'
import { systemClock } from '../adapters/clock/system-clock.ts'
import { type Config, readConfig } from '../config.ts'
import type { Service } from '../operations/service.ts'
import type { Meter } from '../ports/meter.ts'
import type { CarrierProvider } from '../ports/proofs.ts'
import { VERSION } from '../version.ts'
import { wireService } from '../wire.ts'

/** What only a service that listens is given. */
interface ServingParts {
  readonly meter?: Meter
  readonly carrier?: CarrierProvider
}

/** The service that the configuration describes, without listening. */
export function openService(config: Config, serving: ServingParts = {}): Service {
  mkdirSync(dirname(config.databaseFile), { recursive: true, mode: 0o700 })
  return wireService({
    databaseFile: config.databaseFile,
    rootKeys: parseRootKeys(config.rootKeys ?? keptRootKeys(config.dataDir)),
    settings: {
      publicOrigin: config.publicOrigin,
      appScheme: config.appScheme,
      version: VERSION,
      limits: config.limits,
      trustedProxies: config.trustedProxies,
    },
    clock: systemClock,
    ...serving,
  })
}

/** Does something on the store that the configuration names, and closes it again. */
export async function withService<T>(work: (service: Service) => Promise<T>): Promise<T> {
  const service = openService(readConfig(process.env))
  try {
    return await work(service)
  } finally {
    await service.store[Symbol.asyncDispose]()
  }
}

/** Prints one JSON document, or the lines for a person. */
export function print(options: { json?: boolean | undefined }, document: unknown, lines: readonly string[]): void {
  process.stdout.write(options.json === true ? `${JSON.stringify(document, null, 2)}\n` : `${lines.join('\n')}\n`)
}
