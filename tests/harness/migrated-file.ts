import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { migrate } from '../../packages/store/src/migrations/migrate.ts'

let migrated: Buffer | undefined

/** Writes an empty database that has every migration, which run once in a process. */
export function writeMigrated(file: string): void {
  writeFileSync(file, (migrated ??= migratedBytes()), { mode: 0o600 })
}

function migratedBytes(): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'bonded-migrated-'))
  try {
    migrate(join(folder, 'bonded.db'), 0)
    return readFileSync(join(folder, 'bonded.db'))
  } finally {
    rmSync(folder, { recursive: true })
  }
}
