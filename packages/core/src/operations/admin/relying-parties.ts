import type { Service } from '../service.ts'
import { OperatorError } from './operator-error.ts'

/** The relying party ids that a service accepts keys of. */
export interface AcceptedRpIds {
  /** The relying party id of new keys. A key cannot be moved to another one. */
  readonly rpId: string
  /**
   * Of keys that were registered before it changed. Undefined accepts any: in `bonded dev`, whose
   * address changes with its tunnel.
   */
  readonly formerRpIds: readonly string[] | undefined
}

/**
 * Checks that the settings name the relying party id of every stored key. Phones sign with the one
 * that a key was created with, so a mistake in the settings would lose all of them.
 *
 * @returns the relying party ids of the stored keys
 * @throws {OperatorError} that names those that the settings lack
 */
export async function checkRpIds(
  { store }: Pick<Service, 'store'>,
  { rpId, formerRpIds }: AcceptedRpIds,
): Promise<readonly string[]> {
  const stored = await store.read((tables) => tables.devices.rpIds())
  const unknown = stored.filter((id) => formerRpIds && id !== rpId && !formerRpIds.includes(id))
  if (unknown.length === 0) return stored
  const others = [...new Set([...(formerRpIds ?? []), ...unknown])]
  throw new OperatorError(
    `Phones have passkeys with the RP ID ${unknown.join(', ')}, but new passkeys would have ${rpId}. ` +
      'To keep the RP ID, set BONDED_RP_ID to it. ' +
      `To change it, set BONDED_RP_ID_FORMER=${others.join(',')}; those phones keep their passkeys`,
    { code: 'conflict' },
  )
}
