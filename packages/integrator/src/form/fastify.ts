import { requireOptions } from '../required.ts'
import { checkForm, type GatedFormOptions, replyToSession, replyToSubmit } from './gated-form.ts'
import { type NodeHeaders, readerOf } from './node-headers.ts'

/** The part of a request of Fastify that the routes need. */
export interface FastifyRequest {
  readonly headers: NodeHeaders
  readonly body?: unknown
  /** The address of the caller, or of the user behind a proxy that Fastify trusts. */
  readonly ip?: string | undefined
}

/** The part of a reply of Fastify that the routes need. */
export interface FastifyReply {
  code(status: number): { headers(headers: Record<string, string>): unknown }
}

/** A route handler of Fastify. */
export type FastifyHandler<Request> = (request: Request, reply: FastifyReply) => Promise<object>

/**
 * The two routes of a gated form for Fastify, which parses JSON itself.
 *
 * @example
 * const form = gatedForm({ gate, workflow, action, owner, address, record, display, accept })
 * app.post('/bond-session', form.session)
 * app.post('/applications', form.submit)
 */
export function gatedForm<
  Tx,
  Form extends object,
  T,
  Request extends FastifyRequest = FastifyRequest,
>(
  options: GatedFormOptions<Request, Tx, Form, T>,
): { readonly session: FastifyHandler<Request>; readonly submit: FastifyHandler<Request> } {
  checkForm(options)
  const handler =
    (replyTo: typeof replyToSubmit): FastifyHandler<Request> =>
    async (request, reply) => {
      requireOptions(ROUTE, { reply }, { reply: ['code'] })
      const parts = { request, header: readerOf(request.headers), body: () => request.body }
      const { status, headers, body } = await replyTo(options, parts)
      reply.code(status).headers({ ...headers })
      return body
    }
  return { session: handler(replyToSession), submit: handler(replyToSubmit) }
}

const ROUTE = 'a route of Fastify (node:http has @bonded/integrator/node)'
