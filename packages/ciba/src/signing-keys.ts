import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { SettingsFileError } from '@bonded/cli/program/settings-file-error'
import type { JWK, JWKS } from 'oidc-provider'

/**
 * Reads the keys that sign tokens: private keys (ES256) as a JWK set. The first one signs, and all
 * are published. Creates the file with a new key if it does not exist.
 *
 * @throws {SettingsFileError} if the file holds anything else
 */
export function signingKeys(file: string): JWKS {
  if (!existsSync(file)) {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const key = { ...privateKey.export({ format: 'jwk' }), kid: randomUUID(), use: 'sig' }
    // Not over a file that another process has written meanwhile.
    writeFileSync(file, `${JSON.stringify({ keys: [key] })}\n`, { mode: 0o600, flag: 'wx' })
  }
  const keys = keysIn(readFileSync(file, 'utf8'))
  if (keys.length > 0 && keys.every(({ kty, crv, d, kid }) => isKey([kty, crv, d, kid])))
    return { keys }
  throw new SettingsFileError(
    `${file} must be a JWK set of private EC keys (P-256), each with a kid. Delete it to create a new one: tokens that were signed with the old key are no longer accepted.`,
  )
}

function keysIn(text: string): JWK[] {
  try {
    const { keys } = JSON.parse(text) as { keys?: unknown }
    return Array.isArray(keys) ? (keys as JWK[]) : []
  } catch {
    return []
  }
}

function isKey([kty, crv, ...texts]: readonly unknown[]): boolean {
  return kty === 'EC' && crv === 'P-256' && texts.every((text) => typeof text === 'string')
}
