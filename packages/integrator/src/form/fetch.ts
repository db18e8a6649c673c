import { checkForm, type GatedFormOptions, replyToSession, replyToSubmit } from './gated-form.ts'
import { readJson } from './read-json.ts'

/** A handler from `Request` to `Response`. Further arguments of a framework are ignored. */
export type FetchHandler = (request: Request) => Promise<Response>

/**
 * The two routes of a gated form for the Fetch API: Next route handlers, Remix, SvelteKit, Deno,
 * Bun, and workers.
 *
 * @example
 * // app/bond-session/route.ts of Next
 * const form = gatedForm({ gate, workflow, action, owner, address, record, display, accept })
 * export const POST = form.session
 */
export function gatedForm<Tx, Form extends object, T>(
  options: GatedFormOptions<Request, Tx, Form, T>,
): { readonly session: FetchHandler; readonly submit: FetchHandler } {
  checkForm(options)
  const handler =
    (reply: typeof replyToSubmit): FetchHandler =>
    async (request) => {
      const header = (name: string) => request.headers.get(name)
      const parts = { request, header, body: () => readJson(request) }
      const { status, headers, body } = await reply(options, parts)
      return Response.json(body, { status, headers })
    }
  return { session: handler(replyToSession), submit: handler(replyToSubmit) }
}
