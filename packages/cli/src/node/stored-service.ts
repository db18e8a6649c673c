import { existsSync } from 'node:fs'
import type { Service } from '@bonded/core/operations/service'
import { closeService } from '@bonded/server/compose'
import type { Config } from '@bonded/server/settings/config'
import { stepsOf } from '../database/migrate.ts'
import { openService } from '../program/open.ts'

/** The database, which the checks open together, if this version can read it as it is. */
export class StoredService implements AsyncDisposable {
  readonly #config: Config
  #opened: Promise<Service | undefined> | undefined

  constructor(config: Config) {
    this.#config = config
  }

  service(): Promise<Service | undefined> {
    this.#opened ??= this.#open()
    return this.#opened
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const service = await this.#opened?.catch(() => undefined)
    if (service !== undefined) await closeService(service)
  }

  async #open(): Promise<Service | undefined> {
    return (await isReadable(this.#config)) ? openService(this.#config) : undefined
  }
}

/** Whether there is a database that this version can read as it is. */
async function isReadable(config: Config): Promise<boolean> {
  const { databaseFile, postgres, rootKeys } = config
  const isNew = postgres === undefined && !existsSync(databaseFile)
  const states = isNew || !rootKeys.exists() ? [] : await stepsOf(config).catch(() => [])
  return states.length > 0 && states.every(({ appliedAt }) => appliedAt !== null)
}
