import type { Browser, BrowserContext, CDPSession, Page } from 'playwright-core'

/** A passkey of a virtual authenticator, in the words of Chromium's WebAuthn domain. */
export interface Passkey {
  /** Base64. */
  readonly credentialId: string
  readonly isResidentCredential: boolean
  readonly rpId?: string
  readonly privateKey: string
  readonly userHandle?: string
  readonly signCount: number
}

const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }
/** Long enough for a busy machine, and short enough for a scenario that hangs. */
const TIMEOUT_MS = 60_000
/** The screens after an approval, without and with the requirement. */
export const APPROVED = ['approved', 'awaiting_browser']
/** The screens at which a user can do no more. */
const LAST = [...APPROVED, 'problem', 'ended', 'completed']
/** More signatures than a scenario makes with copies of a passkey. */
const COUNTER_STEP = 100

/** A browser profile with an authenticator of its own, in one tab. */
export interface Computer extends AsyncDisposable {
  readonly context: BrowserContext
  readonly page: Page
  /** Adds passkeys, as the cross-device prompt or a sync account makes them available. */
  addPasskeys(passkeys: readonly Passkey[]): Promise<void>
  passkeys(): Promise<readonly Passkey[]>
  replacePasskeys(passkeys: readonly Passkey[]): Promise<void>
  setUserVerified(isUserVerified: boolean): Promise<void>
}

/** The phone of a user. Its approvals are real: the phone page, a passkey, and the user's tap. */
export interface Phone extends Computer {
  /** The device token, as it left the phone in its newest request. */
  readonly token: () => string
  /** The body of its newest assertion for a session. */
  readonly assertion: () => object
  /** Opens a link, sets a new phone up, and approves. Returns the screen or the problem. */
  tryToApprove(link: { readonly universal_link: string }): Promise<string>
  /** @throws where the phone did not approve, because the scenario would then show nothing */
  approve(link: { readonly universal_link: string }): Promise<void>
  /** Copies the passkeys. The phone's own counter goes ahead, so that both may sign. */
  copyPasskeys(): Promise<readonly Passkey[]>
}

/** Opens a computer's browser. Without passkeys, its user has none. */
export async function openComputer(
  browser: Browser,
  options: Parameters<Browser['newContext']>[0] = {},
): Promise<Computer> {
  const context = await browser.newContext({
    viewport: { width: 1_000, height: 800 },
    locale: 'en-US',
    ...options,
  })
  context.setDefaultTimeout(TIMEOUT_MS)
  const page = await context.newPage()
  const devtools = await context.newCDPSession(page)
  await devtools.send('WebAuthn.enable')
  const { authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  const addPasskeys = async (passkeys: readonly Passkey[]) => {
    for (const credential of passkeys)
      await devtools.send('WebAuthn.addCredential', { authenticatorId, credential })
  }
  return {
    context,
    page,
    addPasskeys,
    async replacePasskeys(passkeys) {
      await devtools.send('WebAuthn.clearCredentials', { authenticatorId })
      await addPasskeys(passkeys)
    },
    passkeys: () => passkeysOf(devtools, authenticatorId),
    setUserVerified: async (isUserVerified) => {
      await devtools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified })
    },
    [Symbol.asyncDispose]: () => context.close(),
  }
}

async function passkeysOf(
  devtools: CDPSession,
  authenticatorId: string,
): Promise<readonly Passkey[]> {
  const found = await devtools.send('WebAuthn.getCredentials', { authenticatorId })
  return found.credentials
}

/** Opens a phone's browser. */
export async function openPhone(browser: Browser): Promise<Phone> {
  const computer = await openComputer(browser, PHONE)
  const { page } = computer
  let token = ''
  let assertion: object = {}
  page.on('request', (request) => {
    const { authorization } = request.headers()
    if (authorization !== undefined) token = authorization.replace('Bearer ', '')
    if (request.url().endsWith('/attestations')) assertion = request.postDataJSON() as object
  })
  const tryToApprove: Phone['tryToApprove'] = async ({ universal_link }) => {
    await page.goto(universal_link)
    return setUpAndApprove(page)
  }
  return {
    ...computer,
    token: () => token,
    assertion: () => assertion,
    tryToApprove,
    async approve(link) {
      const screen = await tryToApprove(link)
      if (!APPROVED.includes(screen)) throw new Error(`the phone did not approve: ${screen}`)
    },
    async copyPasskeys() {
      const passkeys = await computer.passkeys()
      await computer.replacePasskeys(
        passkeys.map((each) => ({ ...each, signCount: each.signCount + COUNTER_STEP })),
      )
      return passkeys
    },
  }
}

/**
 * Sets the phone up where it is new, and approves, with one tap each. Returns the screen at which
 * the user can do no more, or the heading of a problem.
 */
async function setUpAndApprove(page: Page): Promise<string> {
  if ((await shown(page, ['setup', 'request', ...LAST])).screen === 'setup')
    await page.getByRole('button', { name: 'Set up this phone' }).click()
  const first = await shown(page, ['request', ...LAST])
  if (first.screen !== 'request') return resultOf(first)
  await page.locator('article').evaluate((element: ShownElement) => {
    element.dataset.wasTapped = 'true'
  })
  // Approve is dimmed while the page ignores taps. The click waits for that.
  await page.getByRole('button', { name: 'Approve', exact: true }).click()
  return resultOf(await shown(page, ['request', ...LAST]))
}

/** The part of a screen's element that is read. The compiler has no DOM here. */
interface ShownElement {
  readonly dataset: { readonly screen?: string; wasTapped?: string }
  querySelector(selector: 'h1'): { readonly textContent: string } | null
}

interface Shown {
  readonly screen: string
  readonly heading: string
}

const resultOf = ({ screen, heading }: Shown) => (screen === 'problem' ? heading : screen)

/**
 * The first of these screens that the user has not tapped, read at once, because the page leaves a
 * problem by itself. The request is shown again where its approval was not sent.
 */
function shown(page: Page, screens: readonly string[]): Promise<Shown> {
  const names = screens.map((screen) => `[data-screen=${screen}]`)
  const article = page.locator(`article:is(${names.join()}):not([data-was-tapped])`)
  return article.evaluate((element: ShownElement) => ({
    screen: element.dataset.screen ?? '',
    heading: element.querySelector('h1')?.textContent ?? '',
  }))
}

/** The id of a passkey, as WebAuthn and the service write it. */
export function credentialId({ credentialId: base64 }: Passkey): string {
  return Buffer.from(base64, 'base64').toString('base64url')
}
