import { element } from '../view/dom.ts'

/** Where the service serves the checks, and their integrity, inserted by the bundler. */
declare const PULSE_CHECKS_PATH: string
declare const PULSE_CHECKS_INTEGRITY: string

export type Checks = typeof import('./loaded.ts')

let loading: Promise<Checks> | undefined

/**
 * Loads the checks of the container, and the rules of the watch, from the service, while the page still prepares its request. No
 * QR code is drawn without them.
 *
 * The browser compares the preloaded module with the integrity value in this script, and the import
 * takes that module. Neither needs a Trusted Types policy.
 *
 * @param origin the origin of the service
 */
export function loadChecks(origin: string): Promise<Checks> {
  loading ??= load(new URL(PULSE_CHECKS_PATH, origin).href)
  // A later request tries again.
  loading.catch(() => (loading = undefined))
  return loading
}

async function load(href: string): Promise<Checks> {
  const integrity = PULSE_CHECKS_INTEGRITY
  const link = element('link', { rel: 'modulepreload', href, integrity, crossorigin: '' })
  try {
    await new Promise((resolve, reject) => {
      link.addEventListener('load', resolve)
      link.addEventListener('error', reject)
      document.head.append(link)
    })
    return (await import(href)) as Checks
  } finally {
    link.remove()
  }
}
