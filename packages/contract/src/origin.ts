/** The URL parser of the runtime. A module of the contract has no types of a runtime. */
declare const URL: new (text: string) => { readonly origin: string; readonly hostname: string }

/** Letters, digits, hyphens and underscores between dots, or an IPv6 address. */
const HOSTNAME = /^(?:[\w.-]+|\[[\da-f:]+\])$/

/**
 * Whether a text is one origin, as a browser sends it. The URL parser accepts hosts such as
 * `a;sandbox` and `a,b`, which would end a directive of a Content Security Policy, or name two
 * hosts in it.
 */
export function isExactOrigin(text: string): boolean {
  try {
    const { origin, hostname } = new URL(text)
    return origin === text && HOSTNAME.test(hostname)
  } catch {
    return false
  }
}
