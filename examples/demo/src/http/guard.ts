import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { type Reply, reject } from './reply.ts'

/** The header of the token. A form cannot set it, and another origin may not. */
export const TOKEN_HEADER = 'x-demo-token'
/** The prefix of the token among the subprotocols of the live connection. */
export const TOKEN_PROTOCOL = 'token.'

/** One of the two origins of the demo. */
export interface Site {
  /** The `Host` header of its requests: `localhost:8789`. */
  readonly host: string
  readonly origin: string
  /** A random secret of this run, which only the pages of this site know. */
  readonly token: string
}

/**
 * Rejects a request that names no site of the demo. A page of another site that rebinds its own
 * name to this machine still sends its own name.
 */
export function siteOf(request: IncomingMessage, sites: readonly Site[]): Site | Reply {
  return (
    sites.find(({ host }) => host === request.headers.host) ??
    reject(421, 'host_not_served', 'Open the address that npm start printed.')
  )
}

/** Rejects a call that does not come from a page of this site. Returns undefined if it does. */
export function crossSiteRejection({ headers }: IncomingMessage, site: Site): Reply | undefined {
  const fetchSite = headers['sec-fetch-site']
  const isOwn =
    headers.origin === site.origin && (fetchSite === undefined || fetchSite === 'same-origin')
  if (!isOwn) return reject(403, 'cross_site', 'Only the demo’s own page may call this.')
  return isToken(headers[TOKEN_HEADER], site.token)
    ? undefined
    : reject(403, 'token_invalid', 'This page belongs to an earlier run. Reload it.')
}

/** Whether a live connection comes from a page of this site and has its token. */
export function mayConnect({ headers }: IncomingMessage, site: Site): boolean {
  const offered = (headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim())
  const token = offered.find((name) => name.startsWith(TOKEN_PROTOCOL))
  return headers.origin === site.origin && isToken(token?.slice(TOKEN_PROTOCOL.length), site.token)
}

function isToken(given: string | string[] | undefined, token: string): boolean {
  // Digests have equal lengths, and comparing them reveals nothing about the token.
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return typeof given === 'string' && timingSafeEqual(digest(given), digest(token))
}
