import { substituteEcdsa } from '../passport/ecdsa.ts'
import { verifyEcdsaInJavaScript } from './verify-ecdsa.ts'

/**
 * Importing this entry lets passports be verified on curves that the runtime lacks: brainpool on
 * Deno and Bun. Node.js has them all, and continues to use its own. Install `@noble/curves` beside
 * this package.
 *
 * @example
 * import '@bonded/attestation/brainpool'
 */
substituteEcdsa(verifyEcdsaInJavaScript)
