import type { Html } from './html.ts'
import type { SignedIn } from './sessions.ts'

/** What the server sends. */
export interface Answer {
  readonly status: number
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  readonly body: Html | string
}

/** A request that the server has read and checked. */
export interface Call {
  readonly method: 'GET' | 'POST'
  readonly url: URL
  /** The form of a POST; empty otherwise. */
  readonly form: URLSearchParams
  /** Of the client, for the audit log. */
  readonly address: string
  readonly cookies: ReadonlyMap<string, string>
  readonly session: SignedIn | undefined
}

/** Sends the browser to another page, by GET. */
export function redirect(to: string, cookies: readonly string[] = []): Answer {
  const headers = { location: to, ...(cookies.length > 0 && { 'set-cookie': cookies }) }
  return { status: 303, headers, body: '' }
}

/**
 * The cookies of this origin. The prefix makes the browser accept them from this host over TLS
 * only, so that no other host of the domain sets one.
 */
export const SESSION_COOKIE = '__Host-bonded-console'
export const ATTEMPT_COOKIE = '__Host-bonded-console-sign-in'

export function cookie(name: string, value: string, maxAgeSeconds?: number): string {
  const lifetime = maxAgeSeconds === undefined ? '' : `; Max-Age=${maxAgeSeconds}`
  return `${name}=${value}; Path=/; Secure; HttpOnly; SameSite=Lax${lifetime}`
}

/** The cookies of a request. Of two with one name, neither is trusted. */
export function cookiesIn(header: string | undefined): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  for (const pair of (header ?? '').split(';')) {
    const [name = '', ...value] = pair.trim().split('=')
    found.set(name, found.has(name) ? '' : value.join('='))
  }
  return found
}
