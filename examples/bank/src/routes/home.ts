import type { Bank } from '../bank.ts'
import { html, type Reply } from '../http/reply.ts'
import { scenarioOf } from '../demo.ts'
import { type Login, setCookie } from '../logins.ts'
import { formPage } from '../pages/form-page.ts'

/**
 * GET /: the form, with the fields that this browser already submitted. A demo also reads the name
 * of its scenario.
 */
export function home(bank: Bank, known: Login | undefined, scenarioName: string | null): Reply {
  const login = known ?? bank.logins.open()
  const own = bank.applications.filter(({ owner }) => owner === login.id)
  const scenario = bank.demo && scenarioOf(bank.demo, scenarioName)
  const page = html(200, formPage({ bank, draft: login.draft, applications: own, scenario }))
  return known ? page : { ...page, headers: { ...page.headers, 'set-cookie': setCookie(login) } }
}
