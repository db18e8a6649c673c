import type { ServerResponse } from 'node:http'
import type { BankDemo } from '../demo.ts'

/** A response. Routes return one, and only `send` writes it. */
export interface Reply {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body: string
}

export function json(status: number, value: object): Reply {
  return {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8' },
    body: JSON.stringify(value),
  }
}

export function html(status: number, body: string): Reply {
  return { status, headers: { 'content-type': 'text/html; charset=utf-8' }, body }
}

/** A rejection: a code for the script and a sentence for the applicant. */
export function reject(status: number, code: string, message: string, more: object = {}): Reply {
  return json(status, { error: { code, message, ...more } })
}

/** Allows only the page's own files, the hosted widget, and the frames and scripts of a demo. */
export function contentSecurityPolicy(serviceOrigin: string, demo?: BankDemo): string {
  const socketOrigin = serviceOrigin.replace(/^http/, 'ws')
  const scripts = demo?.scenarios.flatMap(({ script }) => script ?? []) ?? []
  return [
    `default-src 'none'`,
    ['script-src', `'self'`, serviceOrigin, ...scripts].join(' '),
    `connect-src 'self' ${serviceOrigin} ${socketOrigin}`,
    `img-src ${serviceOrigin} data:`,
    `style-src 'self'`,
    `form-action 'self'`,
    ...(demo === undefined ? [] : [`frame-src ${demo.phoneOrigin}`]),
    `base-uri 'none'`,
    `frame-ancestors 'none'`,
  ].join('; ')
}

/** Writes a reply with the headers that every response has. */
export function send(response: ServerResponse, reply: Reply, securityPolicy: string): void {
  const body = Buffer.from(reply.body)
  response.writeHead(reply.status, {
    'content-security-policy': securityPolicy,
    'x-content-type-options': 'nosniff',
    // With `no-referrer`, a browser's form would send `Origin: null`.
    'referrer-policy': 'same-origin',
    'cache-control': 'no-store',
    'content-length': body.length,
    ...reply.headers,
  })
  response.end(body)
}
