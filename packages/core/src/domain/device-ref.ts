import type { DeviceId } from '@bonded/contract'

/**
 * A tenant's pseudonym for a device. It follows from the tenant's pseudonym for the user, which is
 * stored and never changes, so it needs no row and stays the same when root keys rotate. Device ids
 * are random, so two tenants cannot tell from their pseudonyms that a device is the same.
 *
 * @param sha256 returns the hash of a text in base64url
 */
export function deviceRefOf(
  sha256: (text: string) => string,
  { subjectRef, deviceId }: { readonly subjectRef: string; readonly deviceId: DeviceId },
): string {
  return sha256(`bonded-device-ref/v1\n${subjectRef}\n${deviceId}`)
}
