import { bare } from '@bonded/contract'
import { parseUrl } from '../parse-url.ts'
import type { Pulse } from '../pulse.ts'
import { PulseLoadError } from './load-error.ts'
import { trustedScriptUrl } from './trusted-script-url.ts'

/** Which script to load. */
export interface LoadOptions {
  /** The origin of the service (`worker_origin`), such as `https://bond.example`. */
  readonly origin: string
  /**
   * Pins a version. The service serves its own version only, so deploy the page together with the
   * service. By default the page gets the current script.
   */
  readonly version?: string | undefined
  /** The integrity value of the pinned version, from `/v1/integrity.json`. */
  readonly integrity?: string | undefined
}

/** The loads of a page, shared by all copies of this module in it. */
interface Loads {
  [LOADS]?: Map<string, Promise<unknown>>
}
const LOADS = Symbol.for('bonded.pulse.loads')

/**
 * Loads the hosted script from the service, once per page, and returns the page's `Pulse`. A page
 * that loaded the script by a tag gets that one. After a failure, the next call tries again.
 *
 * @throws PulseLoadError as a rejection: for wrong options, outside a browser, for a script that
 * was blocked or not found, and for a `Pulse` of another origin or version
 *
 * @example const pulse = await loadPulse({ origin: 'https://bond.example' })
 */
export async function loadPulse(options: LoadOptions): Promise<Pulse> {
  const { origin, version, integrity } = bare(options)
  if (!isOrigin(origin))
    throw new PulseLoadError(
      'origin_invalid',
      'Pass `origin`: the origin of the service without a path, such as https://bond.example.',
    )
  if (integrity !== undefined && version === undefined)
    throw new PulseLoadError(
      'integrity_without_version',
      'Pass `version` with `integrity`: the content of the current script changes.',
    )
  if (typeof document === 'undefined')
    throw new PulseLoadError(
      'no_document',
      'Call loadPulse in a browser, such as in an effect, not while a server renders the page.',
    )
  const present = presentPulse()
  if (present) return accept(present, { origin, version })
  const name = version === undefined ? 'pulse.js' : `pulse-${encodeURIComponent(version)}.js`
  const url = `${origin}/v1/${name}`
  const loads = ((globalThis as Loads)[LOADS] ??= new Map())
  const loading = loads.get(url) ?? insertScript(url, integrity)
  loads.set(url, loading)
  try {
    await loading
    return accept(presentPulse(), { origin, version })
  } catch (failure) {
    loads.delete(url)
    throw failure
  }
}

function isOrigin(origin: unknown): origin is string {
  return parseUrl(origin)?.origin === origin && /^https?:/.test(origin as string)
}

function presentPulse(): Pulse | undefined {
  return (globalThis as { Pulse?: Pulse }).Pulse
}

/** A copy on another host gets no fixes, so it is never used in place of the service's script. */
function accept(
  pulse: Pulse | undefined,
  { origin, version = pulse?.version }: Pick<LoadOptions, 'origin' | 'version'>,
): Pulse {
  if (pulse?.origin === origin && pulse.version === version) return pulse
  throw new PulseLoadError(
    'other_script',
    `The page has a Pulse ${pulse?.version} of ${pulse?.origin}. Load one script, from ${origin}.`,
  )
}

function insertScript(url: string, integrity: string | undefined): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const script = document.createElement('script')
    script.async = true
    // With CORS, the browser can check the integrity, and errors of the script are readable.
    script.crossOrigin = 'anonymous'
    script.referrerPolicy = 'no-referrer'
    if (integrity !== undefined) script.integrity = integrity
    let isForbidden = false
    const onViolation = ({ blockedURI, disposition }: SecurityPolicyViolationEvent) => {
      isForbidden ||= disposition === 'enforce' && url.startsWith(blockedURI)
    }
    addEventListener('securitypolicyviolation', onViolation)
    const settled = () => removeEventListener('securitypolicyviolation', onViolation)
    script.addEventListener('load', (event) => {
      settled()
      resolve(event)
    })
    script.addEventListener('error', () => {
      script.remove()
      // The browser reports what its policy blocks in a task of its own.
      setTimeout(() => {
        settled()
        const advice = isForbidden
          ? `The Content Security Policy of the page lacks script-src ${new URL(url).origin}.`
          : 'Check `integrity` and `version`, the network, and browser extensions.'
        reject(new PulseLoadError('script_blocked', `${url} could not be loaded. ${advice}`))
      })
    })
    try {
      script.src = trustedScriptUrl(url)
    } catch {
      return reject(
        new PulseLoadError(
          'trusted_types_blocked',
          'Add `trusted-types bonded-pulse` to the Content Security Policy, or load the script by a tag in the page.',
        ),
      )
    }
    document.head.append(script)
  })
}
