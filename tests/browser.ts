import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'
import { CHROMIUM_PATHS, CHROMIUM_SHELL_PATH } from '../proofs/relay/rig/chromium.ts'
import type { SecureHosts } from './harness/secure-hosts.ts'

const { CHROMIUM_PATH } = process.env

/** The browser that users have, the preferred path first. */
const FULL = firstOf([CHROMIUM_PATH, ...CHROMIUM_PATHS])
const SHELL = firstOf([CHROMIUM_PATH, CHROMIUM_SHELL_PATH])

/** Which of the two builds this machine has. */
export const browsers = { full: FULL !== undefined, shell: SHELL !== undefined }

/** Why the browser tests are skipped, or false when they run. */
export const browserMissing: string | false =
  FULL === undefined && SHELL === undefined
    ? 'no Chromium: install it (apt-get install chromium) or name one in CHROMIUM_PATH; the browser tests are skipped'
    : false

/**
 * Why this machine cannot tell what fits a small phone, or false where it can. DejaVu, the only
 * font of many servers, is wider than the font of any phone.
 */
export const phoneFontMissing: string | false =
  spawnSync('fc-match', ['system-ui'], { encoding: 'utf8' }).stdout?.startsWith('DejaVu') ===
    true && 'no font as wide as those of phones: install one (apt-get install fonts-noto-core)'

/**
 * Opens a fresh headless browser that makes no network requests of its own. Without one of the
 * options, it is the build without a user interface where the machine has that.
 *
 * @param asUsersHaveIt whether it must be the full browser, for the main path and for measurements
 * @param keepsPages whether pages that are left stay in the back-forward cache, which only the full
 *   browser has
 * @param hosts names with TLS, which it resolves and trusts
 */
export function openBrowser({
  asUsersHaveIt = false,
  keepsPages = false,
  hosts,
}: {
  readonly asUsersHaveIt?: boolean
  readonly keepsPages?: boolean
  readonly hosts?: SecureHosts | undefined
} = {}): Promise<Browser> {
  const path = asUsersHaveIt || keepsPages ? FULL : (SHELL ?? FULL)
  return chromium.launch({
    ...(keepsPages ? { ignoreDefaultArgs: ['--disable-back-forward-cache'] } : {}),
    ...(path === undefined ? {} : { executablePath: path }),
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      ...(hosts?.browser.args ?? []),
    ],
    ...(hosts === undefined ? {} : { env: { ...process.env, HOME: hosts.browser.home } }),
  })
}

function firstOf(paths: readonly (string | undefined)[]): string | undefined {
  return paths.find((path) => path !== undefined && existsSync(path))
}
