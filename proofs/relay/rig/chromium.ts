import { existsSync } from 'node:fs'
import { OperatorError } from '@bonded/core/operations/admin/operator-error'
import { type Browser, chromium } from 'playwright-core'
import type { Front } from './front.ts'

/** Where systems install Chromium, the preferred path first. */
export const CHROMIUM_PATHS = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]
/** A build of the same engine without the user interface. It needs less than half the CPU time. */
export const CHROMIUM_SHELL_PATH = '/usr/bin/chromium-headless-shell'

/**
 * Opens Chromium so that every host name leads to the front, and the front's key is trusted. Its
 * profile is new, and it reaches no other address.
 *
 * @throws {OperatorError} where there is no Chromium
 */
export async function openChromium(front: Front): Promise<Browser> {
  const { CHROMIUM_PATH } = process.env
  const known = [CHROMIUM_SHELL_PATH, ...CHROMIUM_PATHS]
  const path = (CHROMIUM_PATH === undefined ? known : [CHROMIUM_PATH]).find((each) =>
    existsSync(each),
  )
  if (path === undefined)
    throw new OperatorError(
      'There is no Chromium. Install it (on Debian: apt-get install chromium), or name the program in CHROMIUM_PATH',
    )
  return chromium.launch({
    executablePath: path,
    args: [
      `--host-resolver-rules=MAP * 127.0.0.1:${front.port}`,
      `--ignore-certificate-errors-spki-list=${front.keyHash}`,
      // Root cannot start it otherwise, and its pages are the run's own.
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
