import { inStorage } from './resume.ts'

/** The secret of each session proves no other. It needs no context, unlike the resumption. */
const keyOf = (sessionId: string) => `pulse:browser:${sessionId}`

/**
 * The secret of this tab for a session, followed by its commitment; undefined if the tab has none.
 * The widget takes it from nowhere else: a page that was given one would submit for another
 * browser.
 */
export function storedSecret(sessionId: string): string | undefined {
  return inStorage((storage) => storage.getItem(keyOf(sessionId))) ?? undefined
}

/** Keeps the secret over a reload of the page, in this tab only. */
export function storeSecret(sessionId: string, secret: string): void {
  inStorage((storage) => storage.setItem(keyOf(sessionId), secret))
}

/** The page has the outcome, or there is none to have. */
export function removeSecret(sessionId: string): void {
  inStorage((storage) => storage.removeItem(keyOf(sessionId)))
}
