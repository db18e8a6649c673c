import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { readConfig } from '@bonded/server/settings/config'
import { closeService } from '@bonded/server/compose'
import { createTenant } from '@bonded/core/operations/admin/tenants'
import { openService } from '@bonded/cli/program/open'
import type { Scratch } from './durability.ts'
import { ownPostgres } from './own-postgres.ts'

/** Where a run stores its sessions, and whether it may stop the database server. */
export interface ScratchOptions {
  readonly folder: string
  readonly rootKeys: string
  /** The folder of the PostgreSQL programs. Without it the run uses a SQLite file. */
  readonly postgresBin?: string | undefined
  readonly postgresSettings?: readonly string[] | undefined
}

/**
 * Creates the database of a run in its own folder. No setting of this machine names it, so a run
 * cannot reach the database of a service.
 */
export async function createScratch(options: ScratchOptions): Promise<Scratch & AsyncDisposable> {
  const { folder, postgresBin } = options
  if (postgresBin === undefined) {
    const url = `sqlite:${join(folder, 'bonded.db')}`
    return { ...scratchAt(url, options), [Symbol.asyncDispose]: async () => {} }
  }
  const server = await ownPostgres({
    bin: postgresBin,
    folder,
    settings: options.postgresSettings ?? [],
  })
  return {
    ...scratchAt(server.url, options),
    server,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

function scratchAt(url: string, { folder, rootKeys }: ScratchOptions): Scratch {
  const dataDir = join(folder, 'operator')
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const open = async () =>
    openService(
      // An empty environment, so that no setting of this machine counts.
      readConfig(
        { BONDED_ROOT_KEYS: rootKeys },
        { BONDED_DATABASE_URL: url, BONDED_DATA_DIR: dataDir },
      ),
    )
  return {
    url,
    async openStore() {
      const service = await open()
      const { store } = service
      return {
        read: (unit) => store.read(unit),
        write: (unit) => store.write(unit),
        newSessionId: (at, random) => store.newSessionId(at, random),
        during: (cause) => store.during(cause),
        hasClock: store.hasClock,
        health: () => store.health(),
        externalChanges: () => store.externalChanges(),
        [Symbol.asyncDispose]: () => closeService(service),
      }
    },
    async createTenant() {
      const service = await open()
      try {
        const { serverCredential } = await createTenant(service, {
          name: 'Durability proof',
          environment: 'sandbox',
          origins: [],
          workflows: [
            { name: 'prove', actions: ['durability'] },
            {
              name: 'wire',
              actions: ['durability'],
              delivery: 'inbox',
              quorum: { needed: 2 },
              session_ttl_seconds: 3_600,
            },
          ],
          demo: false,
        })
        return serverCredential.reveal()
      } finally {
        await closeService(service)
      }
    },
  }
}
