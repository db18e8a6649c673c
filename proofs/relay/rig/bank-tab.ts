import type { PublicCreatedSession } from '@bonded/integrator'
import type { Page } from 'playwright-core'
import type { Bank } from './bank.ts'
import type { Computer } from './people.ts'

/** A browser at the bank. */
export interface BankTab {
  readonly page: Page
  /** Asks for a bond in the widget. Returns the session that the page received. */
  bond(): Promise<PublicCreatedSession>
  /**
   * Goes on when the phone has approved: confirms on this computer where the widget asks for it.
   * Returns how the widget ended: `bonded`, another outcome, or `browser_again` after a
   * confirmation that failed.
   */
  finish(): Promise<string>
  /** The secret of this tab for the session, if any. */
  secret(session: Pick<PublicCreatedSession, 'id'>): Promise<string | undefined>
  /**
   * Submits the form of this tab. Returns what the gate says.
   *
   * @param given default: the tab's own secret
   */
  submit(session: Pick<PublicCreatedSession, 'id'>, given?: string): Promise<string>
}

/** The outcome of a bond, as a page reads it. */
interface Outcome {
  readonly state: string
  readonly reason?: string
  readonly browserSecret?: string
}

const halfOf = (text: string) => text.slice(0, text.length / 2)

/** Signs the browser in at the bank, and opens its page. */
export async function visitBank(
  { page }: Pick<Computer, 'page'>,
  bank: Bank,
  { as, search = '' }: { readonly as: string; readonly search?: string },
): Promise<BankTab> {
  await page.goto(`${bank.origin}/login?as=${as}`)
  return bankTab(page, bank, search)
}

/** Opens the bank's page with the sign-in that the browser has. */
export async function bankTab(page: Page, bank: Bank, search = ''): Promise<BankTab> {
  if (page.url() !== `${bank.origin}/${search}`) await page.goto(`${bank.origin}/${search}`)
  const card = (name: string) => page.locator(`.card[data-screen=${name}]`)
  const outcome = () => page.evaluate('globalThis.outcome') as Promise<Outcome | null>
  const endOr = async (...screens: string[]): Promise<Outcome | string | null> => {
    const ended = page.waitForFunction('globalThis.outcome').then(outcome)
    const shown = screens.map((screen) =>
      card(screen)
        .waitFor()
        .then(() => screen),
    )
    // All but one never happen, and end with the tab.
    for (const each of [ended, ...shown]) each.catch(() => {})
    return Promise.race([ended, ...shown])
  }
  const nameOf = (given: Outcome | string | null) =>
    typeof given === 'string' ? given : (given?.reason ?? String(given?.state))
  const secret = async (session: Pick<PublicCreatedSession, 'id'>) => {
    const kept = await page.evaluate(`sessionStorage.getItem('pulse:browser:${session.id}')`)
    // The tab keeps the secret together with its commitment, of the same length.
    return (await outcome())?.browserSecret ?? (kept === null ? undefined : halfOf(String(kept)))
  }
  return {
    page,
    secret,
    async bond() {
      const [response] = await Promise.all([
        page.waitForResponse((each) => each.url().includes('/bond-session')),
        page.evaluate('bond()'),
      ])
      return (await response.json()) as PublicCreatedSession
    },
    async finish() {
      const first = await endOr('browser', 'browser_frame')
      if (first === 'browser_frame') {
        const frame = page.frameLocator('[data-pulse-widget] iframe')
        await frame.getByRole('button', { name: 'Confirm', exact: true }).click()
        return nameOf(await endOr())
      }
      if (first !== 'browser') return nameOf(first)
      await page.getByRole('button', { name: 'Confirm on this computer' }).click()
      return nameOf(await endOr('browser_again'))
    },
    async submit(session, given) {
      const form = { session_id: session.id, browser_secret: given ?? (await secret(session)) }
      return String(await page.evaluate(`submit(${JSON.stringify(form)})`))
    },
  }
}
