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
/** A tap that counts changes the screen sooner. */
const TAP_MS = 5_000
const MAX_TAPS = 10
/** What a busy machine causes, and what its user repeats. */
const PASSING_PROBLEMS = ['Something went wrong', 'No connection', 'The service is busy']
const MAX_TRIES = 3
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
    for (let tries = 1; ; tries++) {
      await page.goto(universal_link)
      const screen = await approveOnce(page)
      if (screen !== 'problem') return screen
      const problem = page.locator('article[data-screen=problem] h1')
      const heading = await problem.innerText({ timeout: TAP_MS }).catch(() => null)
      const isPassing = heading === null || PASSING_PROBLEMS.includes(heading)
      if (tries === MAX_TRIES || !isPassing) return heading ?? screen
    }
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
 * Sets the phone up where it is new, and approves. Returns the screen at which the user can do no
 * more. On a busy machine, the page can be back at the request after a tap: a prompt or a request
 * was lost. It can also ignore a tap that comes too soon after it came to the front.
 */
async function approveOnce(page: Page): Promise<string> {
  /** The first of these screens, read at once, because the page leaves a problem by itself. */
  const shown = (names: readonly string[], timeout = TIMEOUT_MS) =>
    page
      .locator(`article:is(${names.map((name) => `[data-screen=${name}]`).join()})`)
      .getAttribute('data-screen', { timeout })
  if ((await shown(['setup', 'request', ...LAST])) === 'setup')
    await page.getByRole('button', { name: 'Set up this phone' }).click()
  let last = await shown(['request', ...LAST])
  const approve = page.getByRole('button', { name: 'Approve', exact: true })
  for (let taps = 0; last === 'request' || last === null; taps++) {
    if (taps === MAX_TAPS) throw new Error('the phone page stays at the request')
    await approve.click({ timeout: TAP_MS }).catch(() => {})
    last = await shown(LAST, TAP_MS).catch(() => null)
  }
  return last
}

/** The id of a passkey, as WebAuthn and the service write it. */
export function credentialId({ credentialId: base64 }: Passkey): string {
  return Buffer.from(base64, 'base64').toString('base64url')
}
