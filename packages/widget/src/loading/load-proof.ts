import { loadModule } from './load-module.ts'

/** Where the service serves the browser's proof, and its integrity, inserted by the bundler. */
declare const PULSE_PROOF_PATH: string
declare const PULSE_PROOF_INTEGRITY: string

/**
 * Loads the code of the browser's proof. Only the pages of a workflow that requires the browser do.
 * The browser keeps the module, so a repeated call is cheap.
 *
 * @param origin the origin of the service
 */
export function loadProof(
  origin: string,
): Promise<typeof import('../browser-proof/open-proof.ts')> {
  return loadModule(new URL(PULSE_PROOF_PATH, origin), PULSE_PROOF_INTEGRITY)
}
