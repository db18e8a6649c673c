import { loadModule } from './load-module.ts'

/** Where the service serves the checks, and their integrity, inserted by the bundler. */
declare const PULSE_CHECKS_PATH: string
declare const PULSE_CHECKS_INTEGRITY: string

export type Checks = typeof import('./loaded.ts')

let loading: Promise<Checks> | undefined

/**
 * Loads the checks of the container, and the rules of the watch, while the page still prepares its
 * request. No QR code is drawn without them.
 *
 * @param origin the origin of the service
 */
export function loadChecks(origin: string): Promise<Checks> {
  loading ??= loadModule<Checks>(new URL(PULSE_CHECKS_PATH, origin), PULSE_CHECKS_INTEGRITY)
  // A later request tries again.
  loading.catch(() => (loading = undefined))
  return loading
}
