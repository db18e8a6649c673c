import type { Bank } from '../bank.ts'
import { html, type Reply } from '../http/reply.ts'
import { type Login, setCookie } from '../logins.ts'
import { formPage } from '../pages/form-page.ts'

/** GET /: the form, with the fields that this browser already submitted. */
export function home(bank: Bank, known: Login | undefined): Reply {
  const login = known ?? bank.logins.open()
  const own = bank.applications.filter(({ owner }) => owner === login.id)
  const page = html(200, formPage({ bank, draft: login.draft, applications: own }))
  return known ? page : { ...page, headers: { ...page.headers, 'set-cookie': setCookie(login) } }
}
