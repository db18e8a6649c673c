import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

/** Paths where a browser may be, the preferred one first. */
const PLACES = [
  process.env.CHROMIUM_PATH,
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]

/** The browser that the tests drive, if this machine has one. */
export const browserPath = PLACES.find((path) => path !== undefined && existsSync(path))

/** Why the browser tests are skipped, or false when they run. */
export const browserMissing: string | false =
  browserPath === undefined
    ? 'no Chromium: install it (apt-get install chromium) or name one in CHROMIUM_PATH; the browser tests are skipped'
    : false

/**
 * Opens a fresh headless browser that makes no network requests of its own.
 *
 * @param keepsPages whether pages that are left stay in the back-forward cache
 */
export function openBrowser({ keepsPages = false } = {}): Promise<Browser> {
  return chromium.launch({
    ...(keepsPages ? { ignoreDefaultArgs: ['--disable-back-forward-cache'] } : {}),
    ...(browserPath === undefined ? {} : { executablePath: browserPath }),
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  })
}
