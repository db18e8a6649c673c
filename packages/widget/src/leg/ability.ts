/**
 * Whether this browser may use the passkeys of the service on this page. Nothing in the page makes
 * the service require less, so a page that says no only ends its own bond.
 */
export async function canProve(rpId: string): Promise<boolean> {
  if (!isSecureContext || typeof PublicKeyCredential === 'undefined' || isInForeignFrame())
    return false
  const { hostname } = location
  if (hostname === rpId || hostname.endsWith(`.${rpId}`)) return true
  // A browser without this question may still know related origins. Its answer is then the prompt,
  // or an error at once.
  const capabilities = await PublicKeyCredential.getClientCapabilities?.()
  return capabilities === undefined || capabilities['relatedOrigins'] === true
}

/** The service accepts no proof of a page that another site shows in a frame. */
function isInForeignFrame(): boolean {
  try {
    return !top!.location.origin
  } catch {
    return true
  }
}
