import { PhoneError, readHandoff } from '@bonded/simulator'
import type { Page } from 'playwright-core'

/** Takes screenshots of the page until a phone can read the QR code in one. */
export async function photograph(page: Page, path: string): Promise<string> {
  await page.locator('#bond-container svg[role=img][viewBox]').waitFor({ state: 'visible' })
  for (;;) {
    const picture = await page.screenshot({ path, fullPage: true })
    try {
      readHandoff(picture)
      return path
    } catch (failure) {
      if (!(failure instanceof PhoneError) || failure.code !== 'handoff_unreadable') throw failure
    }
  }
}
