import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { rootKeysOf } from '@bonded/server/adapters/keys/root-key-file'
import type { RootKey } from '@bonded/core/domain/root-keys'
import type { Config } from '@bonded/server/settings/config'
import { OperatorError } from '@bonded/core/operations/admin/operator-error'

/**
 * Returns the root keys of a service that exists. A command that only reads must not generate a
 * key: nothing would match it.
 *
 * @throws {OperatorError} if there are none
 */
export function storedRootKeys(config: Config): readonly RootKey[] {
  if (config.rootKeys === undefined && !existsSync(join(config.dataDir, 'root.key')))
    throw new OperatorError(
      `There is no root key: BONDED_ROOT_KEYS is not set, and ${config.dataDir} has no root.key. A backup contains no root keys. Restore them from where you store secrets, and try again`,
      { code: 'not_found' },
    )
  return rootKeysOf(config)
}

/** Where the root keys are, for the operator who has to store them. */
export function rootKeyPlace(config: Config): string {
  return config.rootKeys === undefined ? join(config.dataDir, 'root.key') : 'BONDED_ROOT_KEYS'
}
