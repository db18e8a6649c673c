import { PhoneError, readHandoff } from '@bonded/simulator'
import type { Page } from 'playwright-core'

/** Far more than the page needs to scroll to its QR code. */
const MOST_PICTURES = 50

/** Takes screenshots of the window, as a user does, until a phone can read the QR code in one. */
export async function photograph(page: Page, path: string): Promise<string> {
  await page.locator('#bond-container svg[role=img][viewBox]').waitFor({ state: 'visible' })
  for (let left = MOST_PICTURES; ; left--) {
    const picture = await page.screenshot({ path })
    try {
      readHandoff(picture)
      return path
    } catch (failure) {
      const isUnreadable = failure instanceof PhoneError && failure.code === 'handoff_unreadable'
      if (!isUnreadable || left === 0) throw failure
    }
  }
}
