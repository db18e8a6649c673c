import type { ServerResponse } from 'node:http'

/** A response. Only `send` writes it. */
export interface Reply {
  readonly status: number
  readonly type: string
  readonly body: string
}

/** An HTML page. */
export function html(body: string): Reply {
  return { status: 200, type: 'text/html; charset=utf-8', body }
}

/** A JSON document. */
export function json(status: number, value: object): Reply {
  return { status, type: 'application/json; charset=utf-8', body: JSON.stringify(value) }
}

/** An error with a code for the script and a sentence for its developer. */
export function reject(status: number, code: string, message: string): Reply {
  return json(status, { error: { code, message } })
}

/**
 * Writes a reply with the headers that every response has. No response has a CORS header, so no
 * other origin can read one.
 */
export function send(response: ServerResponse, reply: Reply, securityPolicy: string): void {
  const body = Buffer.from(reply.body)
  response.writeHead(reply.status, {
    'content-type': reply.type,
    'content-length': body.length,
    'content-security-policy': securityPolicy,
    'cross-origin-resource-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
  })
  response.end(body)
}
