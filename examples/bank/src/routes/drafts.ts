import type { FormBody } from '../http/body.ts'
import { json, type Reply, reject } from '../http/reply.ts'
import { displayOf, parseLoanForm } from '../loan-form.ts'
import type { Login } from '../logins.ts'

/** POST /drafts: checks and stores the application before the phone is involved. */
export function saveDraft(login: Login, { fields }: FormBody): Reply {
  const parsed = parseLoanForm(fields)
  if ('errors' in parsed)
    return reject(422, 'invalid_form', 'Check the marked fields.', { fields: parsed.errors })
  login.draft = parsed.request
  return json(200, { draft: { ...parsed.request, display: displayOf(parsed.request) } })
}
