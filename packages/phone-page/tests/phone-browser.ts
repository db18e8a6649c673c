import type { Browser, BrowserContext, CDPSession, Page } from 'playwright-core'

/** A phone's screen, with touch. */
const PHONE = {
  viewport: { width: 390, height: 844 },
  hasTouch: true,
  isMobile: true,
  deviceScaleFactor: 2,
}

/** How a virtual authenticator behaves, in the words of Chromium's WebAuthn domain. */
export interface AuthenticatorOptions {
  readonly hasUserVerification?: boolean
  readonly isUserVerified?: boolean
  readonly defaultBackupEligibility?: boolean
  readonly defaultBackupState?: boolean
}

/** A passkey of a virtual authenticator. */
export type Passkey = Awaited<ReturnType<typeof passkeysOf>>[number]

/** A phone's browser with an authenticator of its own. */
export interface PhoneBrowser {
  readonly context: BrowserContext
  readonly page: Page
  /** Opens a link, and where the phone is new, sets it up. */
  readonly open: (link: { readonly universal_link: string }) => Promise<void>
  setUserVerified(isUserVerified: boolean): Promise<void>
  /** Another tab of the same browser. */
  readonly newTab: () => Promise<Page>
  /** Gives another tab the passkeys: virtual authenticators are of one tab. */
  readonly shareWith: (page: Page) => Promise<void>
  /** The passkeys that the authenticator holds. */
  readonly passkeys: () => Promise<readonly Passkey[]>
  /** Adds another phone's passkeys, as a sync account does. */
  addPasskeys(passkeys: readonly Passkey[]): Promise<void>
  /** Deletes what the page has stored, as a browser or its user does. */
  clearStorage(): Promise<void>
  /** Deletes every passkey, as a user does in the phone's settings. */
  clearPasskeys(): Promise<void>
}

/** Options of a new browser profile, as Playwright names them. */
export type PhoneLook = Parameters<Browser['newContext']>[0]

/** Opens a new browser profile with its own authenticator. */
export async function openPhone(
  browser: Browser,
  options: AuthenticatorOptions = {},
  look: PhoneLook = {},
): Promise<PhoneBrowser> {
  const context = await browser.newContext({ ...PHONE, ...look })
  context.setDefaultTimeout(60_000)
  const page = await context.newPage()
  const { devtools, authenticatorId } = await addAuthenticator(context, page, options)
  return {
    context,
    page,
    async open({ universal_link }) {
      await page.goto(universal_link)
      await page.locator('article:is([data-screen=setup], [data-screen=request])').waitFor()
      if ((await shownScreen(page)) === 'setup')
        await page.locator('[data-screen=setup] button').first().click()
      await screen(page, 'request')
    },
    setUserVerified: async (isUserVerified) => {
      await devtools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified })
    },
    newTab: () => context.newPage(),
    async shareWith(tab) {
      const other = await addAuthenticator(context, tab, options)
      for (const credential of await passkeysOf(devtools, authenticatorId))
        await other.devtools.send('WebAuthn.addCredential', {
          authenticatorId: other.authenticatorId,
          credential,
        })
    },
    passkeys: () => passkeysOf(devtools, authenticatorId),
    async addPasskeys(passkeys) {
      for (const credential of passkeys)
        await devtools.send('WebAuthn.addCredential', { authenticatorId, credential })
    },
    async clearStorage() {
      const { origin } = new URL(page.url())
      await devtools.send('Storage.clearDataForOrigin', { origin, storageTypes: 'all' })
    },
    clearPasskeys: async () => {
      await devtools.send('WebAuthn.clearCredentials', { authenticatorId })
    },
  }
}

async function passkeysOf(devtools: CDPSession, authenticatorId: string) {
  const found = await devtools.send('WebAuthn.getCredentials', { authenticatorId })
  return found.credentials
}

/** Adds a virtual authenticator to one tab. Tabs do not share them. */
export async function addAuthenticator(
  context: BrowserContext,
  page: Page,
  options: AuthenticatorOptions = {},
): Promise<{ devtools: CDPSession; authenticatorId: string }> {
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
      ...options,
    },
  })
  return { devtools, authenticatorId }
}

/** Records what the platform would ask the user from the next page on: `create` and `get`. */
export async function recordPrompts(page: Page): Promise<string[]> {
  const prompts: string[] = []
  await page.exposeFunction('prompted', (kind: string) => void prompts.push(kind))
  await page.addInitScript(`for (const kind of ['create', 'get']) {
    const ask = CredentialsContainer.prototype[kind]
    CredentialsContainer.prototype[kind] = function (options) {
      prompted(kind)
      return ask.call(this, options)
    }
  }`)
  return prompts
}

/**
 * Waits until the page shows a screen, or one of several. A failure says what it shows instead.
 * Name both where a program leads from one screen to the next without the test: the first may be
 * gone before it is seen.
 */
export async function screen(page: Page, ...names: readonly string[]): Promise<void> {
  const any = names.map((name) => `[data-screen=${name}]`).join()
  try {
    await page.locator(`article:is(${any})`).waitFor({ state: 'visible' })
  } catch (error) {
    const article = page.locator('article')
    const shown = (await article.count()) === 1 ? await article.innerText() : 'no article'
    throw new Error(`no ${names.join(' or ')}; the page shows:\n${shown}`, { cause: error })
  }
}

/** The name of the screen that the page shows now. */
export function shownScreen(page: Page): Promise<string | null> {
  return page.locator('article').getAttribute('data-screen')
}

/** Scrolls through the request, as a user who reads it. */
export async function readAll(page: Page): Promise<void> {
  await page.evaluate(`(async () => {
    for (let y = 0; y < document.body.scrollHeight; y += innerHeight / 4) {
      scrollTo(0, y)
      await new Promise((settle) => requestAnimationFrame(() => requestAnimationFrame(settle)))
    }
  })()`)
}

/** Presses the button with exactly this text. */
export async function press(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name, exact: true }).click()
}

/** The heading of the screen. */
export async function heading(page: Page): Promise<string | null> {
  return page.getByRole('heading').textContent()
}
