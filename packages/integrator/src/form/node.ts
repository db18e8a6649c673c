import { GateError } from '../errors.ts'
import type { ExpressRequest } from './express.ts'
import {
  checkForm,
  type FormReply,
  type GatedFormOptions,
  problem,
  replyToSession,
  replyToSubmit,
} from './gated-form.ts'
import { readerOf } from './node-headers.ts'
import { readJson } from './read-json.ts'

/** The part of a request of `node:http` that the routes need. */
export interface NodeRequest extends Pick<ExpressRequest, 'headers' | 'body'> {
  readonly method?: string | undefined
  iterator(options: { readonly destroyOnReturn: false }): AsyncIterator<Uint8Array<ArrayBuffer>>
  resume(): unknown
}

/** The part of a response of `node:http` that the routes need. */
export interface NodeResponse {
  readonly headersSent: boolean
  writeHead(status: number, headers: Record<string, string>): { end(text: string): unknown }
}

type Next = (error: unknown) => void

/** A handler of `node:http`. If it is passed `next`, as by Connect or Polka, errors go there. */
export type NodeHandler<R> = (request: R, response: NodeResponse, next?: Next) => Promise<void>

/**
 * The two routes of a gated form for `node:http`, and for what passes its requests on. They answer
 * a POST, of any path.
 *
 * @example
 * const form = gatedForm({ gate, workflow, action, owner, address, record, display, accept })
 * const routes = { '/bond-session': form.session, '/applications': form.submit }
 * createServer((request, response) => (routes[request.url] ?? page)(request, response))
 */
export function gatedForm<Tx, Form extends object, T, Request extends NodeRequest = NodeRequest>(
  options: GatedFormOptions<Request, Tx, Form, T>,
): { readonly session: NodeHandler<Request>; readonly submit: NodeHandler<Request> } {
  checkForm(options)
  const handler =
    (reply: typeof replyToSubmit): NodeHandler<Request> =>
    async (request, response, next) => {
      const header = readerOf(request.headers)
      // A middleware before the route may have parsed the body.
      const parts = { request, header, body: () => request.body ?? readJson(bodyOf(request)) }
      try {
        send(response, request.method === 'POST' ? await reply(options, parts) : NOT_POSTED)
      } catch (error) {
        if (next !== undefined) return next(error)
        // The gate has reported its own errors. No framework logs the others.
        if (!(error instanceof GateError)) console.error(error)
        if (!response.headersSent) send(response, FAILED)
      }
    }
  return { session: handler(replyToSession), submit: handler(replyToSubmit) }
}

function send(response: NodeResponse, { status, headers, body }: FormReply): void {
  const text = JSON.stringify(body)
  response.writeHead(status, { ...headers, 'content-type': 'application/json' }).end(text)
}

/** The body, of which only as much is read as a form may have. */
function bodyOf(request: NodeRequest): Response {
  const chunks = request.iterator({ destroyOnReturn: false })
  const source: UnderlyingDefaultSource<Uint8Array<ArrayBuffer>> = {
    async pull(controller) {
      const { done, value } = await chunks.next()
      return done === true ? controller.close() : controller.enqueue(value)
    },
    // The connection stays open for the answer, and Node drops what the client still sends.
    async cancel() {
      await chunks.return?.()
      request.resume()
    },
  }
  const headers = { 'content-type': readerOf(request.headers)('content-type') ?? '' }
  return new Response(new ReadableStream(source, { highWaterMark: 0 }), { headers })
}

const NOT_POSTED = problem(405, 'not_posted', 'Send this with POST.')
const FAILED = problem(500, 'internal_error', 'The site has a fault. Try again later.')
