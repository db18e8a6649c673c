import { checkForm, type GatedFormOptions, replyToSession, replyToSubmit } from './gated-form.ts'
import { readJson } from './read-json.ts'

/** The part of a context of Hono that the routes need. */
export interface HonoContext {
  readonly req: { readonly raw: Request }
}

/** A route handler of Hono. */
export type HonoHandler<Context> = (context: Context) => Promise<Response>

/**
 * The two routes of a gated form for Hono. `owner` and `record` receive Hono's context.
 *
 * @example
 * const form = gatedForm({ gate, workflow, action, owner, address, record, display, accept })
 * app.post('/bond-session', form.session)
 * app.post('/applications', form.submit)
 */
export function gatedForm<Tx, Form extends object, T, Context extends HonoContext = HonoContext>(
  options: GatedFormOptions<Context, Tx, Form, T>,
): { readonly session: HonoHandler<Context>; readonly submit: HonoHandler<Context> } {
  checkForm(options)
  const handler =
    (reply: typeof replyToSubmit): HonoHandler<Context> =>
    async (context) => {
      const { raw } = context.req
      const header = (name: string) => raw.headers.get(name)
      const parts = { request: context, header, body: () => readJson(raw) }
      const { status, headers, body } = await reply(options, parts)
      return Response.json(body, { status, headers })
    }
  return { session: handler(replyToSession), submit: handler(replyToSubmit) }
}
