/**
 * Whether this browser has passkeys for the user's page: a page that is not secure has none, and a
 * browser inside an app can lack their prompts. Nothing in the page makes the service require less,
 * so a page that says no only ends its own bond.
 */
export function hasPasskeys(): boolean {
  return !!window.PublicKeyCredential && !!navigator.credentials && !isInForeignFrame()
}

/**
 * Whether the page itself may use the passkeys of the service: on its domain, or as a related
 * origin. A browser that does not say so gets the service's frame, which works in all of them.
 */
export async function mayUsePasskeysOf(rpId: string): Promise<boolean> {
  const { hostname } = location
  if (hostname === rpId || hostname.endsWith(`.${rpId}`)) return true
  const capabilities = await PublicKeyCredential.getClientCapabilities?.()
  return capabilities?.['relatedOrigins'] === true
}

/** The service accepts no proof of a page that another site shows in a frame. */
function isInForeignFrame(): boolean {
  try {
    return !top!.location.origin
  } catch {
    return true
  }
}
