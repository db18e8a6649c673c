import type { RootKey } from '@bonded/core/domain/root-keys'
import { OperatorError } from '@bonded/core/operations/admin/operator-error'
import type { Config } from '@bonded/server/settings/config'

/**
 * Returns the root keys of a service that exists. A command that only reads must not generate a
 * key: nothing would match it.
 *
 * @throws {OperatorError} if there are none
 */
export async function existingRootKeys({ rootKeys, dataDir }: Config): Promise<readonly RootKey[]> {
  if (!rootKeys.exists())
    throw new OperatorError(
      `There is no root key: neither BONDED_ROOT_KEYS nor BONDED_ROOT_KEYS_COMMAND is set, and ${dataDir} has no root.key. A backup contains no root keys. Restore them from where you store secrets, and try again`,
      { code: 'not_found' },
    )
  return rootKeys.load()
}
