import type { PhoneDevice } from '../device.ts'
import type { PhoneStore } from '../ports.ts'
import type { Secret } from '@bonded/contract'

/**
 * The newest token of a device. A session that was claimed before a rotation has only the old
 * token, which stops working when the new one is first used.
 */
export async function currentToken(
  { store }: { readonly store: PhoneStore },
  device: PhoneDevice,
): Promise<Secret> {
  const stored = await store.device()
  return stored?.device_id === device.device_id ? stored.device_token : device.device_token
}
