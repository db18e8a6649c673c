import type { PhoneDevice } from '../device.ts'
import type { PhoneStore } from '../ports.ts'
import type { Secret } from '@bonded/contract'

/**
 * The newest token of a device. A session that was claimed before a renewal knows only the old token, which ends
 * when the new one is first used.
 */
export async function currentToken(
  { store }: { readonly store: PhoneStore },
  device: PhoneDevice,
): Promise<Secret> {
  const kept = await store.device()
  return kept?.device_id === device.device_id ? kept.device_token : device.device_token
}
