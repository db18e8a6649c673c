import { isWebAddress } from './session/snapshot.ts'

/**
 * The origin that a running script was loaded from; null for a script that was inlined, bundled or
 * evaluated as text. Only the script of the service gets its fixes, so no other copy may run.
 *
 * @param script `document.currentScript`, which is known only while the script starts
 */
export function originOfScript(script: HTMLOrSVGScriptElement | null): string | null {
  const address = (script as HTMLScriptElement | null)?.src
  return isWebAddress(address) ? new URL(address).origin : null
}
