import { Readable } from 'node:stream'
import type { NodeHandler, NodeRequest } from '../src/form/node.ts'

interface Answer {
  readonly status: number
  readonly headers: Record<string, string>
  readonly text: string
}

/** Calls a handler of `node:http`, whose errors go to `next`. */
export function callNode(
  handler: NodeHandler<NodeRequest>,
  { body, headers }: { readonly body: unknown; readonly headers: Record<string, string> },
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const chunks = Readable.from([Buffer.from(JSON.stringify(body))])
    const writeHead = (status: number, sent: Record<string, string>) => ({
      end: (text: string) => resolve({ status, headers: sent, text }),
    })
    const request = Object.assign(chunks, { method: 'POST', headers })
    void handler(request, { headersSent: false, writeHead }, reject)
  })
}
