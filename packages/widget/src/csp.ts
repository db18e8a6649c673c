import { parseUrl } from './parse-url.ts'

/** What the page's Content Security Policy lacked last, such as `connect-src https://bond.example`. */
export let missingCsp: string | undefined

/**
 * Names in the console what the page's Content Security Policy blocks of the widget.
 *
 * @param needed the origins, and the address of the page's own endpoint, that the widget calls
 */
export function watchPolicy(needed: ReadonlySet<unknown>): void {
  addEventListener('securitypolicyviolation', ({ blockedURI, disposition, effectiveDirective }) => {
    const { href, origin } = parseUrl(blockedURI) ?? {}
    if (disposition === 'report' || !(needed.has(origin) || needed.has(href))) return
    missingCsp = `${effectiveDirective.replace('-elem', '')} ${origin}`
    console.error(`Pulse: the CSP of the page lacks ${missingCsp}.`)
  })
}
