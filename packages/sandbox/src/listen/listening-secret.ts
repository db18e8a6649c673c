import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Secret } from '@bonded/integrator'

/** The length of the secrets of the service's endpoints. */
const BYTES = 32

/**
 * The secret that `bonded listen` signs with. It stays the same across starts, so a backend's
 * configuration does too. Its owner alone can read the file.
 */
export function listeningSecret(dataDir: string): Secret {
  const file = join(dataDir, 'listen.json')
  if (existsSync(file))
    return new Secret((JSON.parse(readFileSync(file, 'utf8')) as { secret: string }).secret)
  const secret = `whsec_${randomBytes(BYTES).toString('base64')}`
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  // Renaming makes the write atomic, even on a full disk.
  writeFileSync(`${file}.draft`, `${JSON.stringify({ secret })}\n`, { mode: 0o600 })
  renameSync(`${file}.draft`, file)
  return new Secret(secret)
}
