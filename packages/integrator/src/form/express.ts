import { requireOptions } from '../required.ts'
import { checkForm, type GatedFormOptions, replyToSession, replyToSubmit } from './gated-form.ts'
import { type NodeHeaders, readerOf } from './node-headers.ts'

/** The part of a request of Express 4 or 5 that the routes need. */
export interface ExpressRequest {
  readonly headers: NodeHeaders
  readonly body?: unknown
  /** The address of the caller, or of the user behind a proxy that Express trusts. */
  readonly ip?: string | undefined
}

/** The part of a response of Express 4 or 5 that the routes need. */
export interface ExpressResponse {
  status(code: number): { set(headers: Record<string, string>): { json(body: object): unknown } }
}

/** A route handler of Express. */
export type ExpressHandler<Request> = (
  request: Request,
  response: ExpressResponse,
  next: (error?: unknown) => void,
) => void

/**
 * The two routes of a gated form for Express 4 and 5. The submit needs `express.json()` before it.
 *
 * @example
 * const form = gatedForm({ gate, workflow, action, owner, address, record, display, accept })
 * app.post('/bond-session', form.session)
 * app.post('/applications', express.json(), form.submit)
 */
export function gatedForm<
  Tx,
  Form extends object,
  T,
  Request extends ExpressRequest = ExpressRequest,
>(
  options: GatedFormOptions<Request, Tx, Form, T>,
): { readonly session: ExpressHandler<Request>; readonly submit: ExpressHandler<Request> } {
  checkForm(options)
  const handler =
    (reply: typeof replyToSubmit): ExpressHandler<Request> =>
    (request, response, next) => {
      requireOptions(ROUTE, { response }, { response: ['status'] })
      const parts = { request, header: readerOf(request.headers), body: () => request.body }
      // Express 4 does not wait for promises, so it needs the error passed on.
      reply(options, parts)
        .then(({ status, headers, body }) => {
          response
            .status(status)
            .set({ ...headers })
            .json(body)
        })
        .catch(next)
    }
  return { session: handler(replyToSession), submit: handler(replyToSubmit) }
}

const ROUTE = 'a route of Express (node:http has @bonded/integrator/node)'
