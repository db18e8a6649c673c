import type { CreatedSession } from '@bonded/contract'
import type { Frame, Page } from 'playwright-core'
import type { RelayService, RelayTenant } from './relay-service.ts'

/** The address of a tenant's frame. */
export function frameUrl({ origin }: RelayService, { id }: RelayTenant): string {
  return `${origin}/frame/${id}`
}

/** A page of a site without a widget, which shows a frame. */
export function framing(origin: string, frame: string): string {
  return `${origin}/?frame=${encodeURIComponent(frame)}`
}

/** The message that starts the service's frame, as JSON. */
export function startMessage(
  { id, watch_token }: CreatedSession,
  { tenant, commitment }: { readonly tenant: RelayTenant; readonly commitment: string },
): string {
  return JSON.stringify({
    bonded: 'frame/v1',
    type: 'start',
    session_id: id,
    watch_token,
    publishable_key: tenant.publishableKey,
    commitment,
    language: 'en',
  })
}

/** The service's frame in a page. Undefined where the browser has blocked it. */
export function frameIn(page: Page, { origin }: RelayService): Frame | undefined {
  return page.frames().find((frame) => frame.url().startsWith(`${origin}/frame/`))
}

/** Resolves when the frame has said to its page that it listens. A message before that is lost. */
export async function listens(page: Page | Frame): Promise<'listens'> {
  await page.waitForFunction(`messages.some(({ data }) => data.type === 'ready')`)
  return 'listens'
}

/** The screen that the frame shows, once it has read the session. */
export async function frameScreen(frame: Frame | Page): Promise<string> {
  return String(await drawn(frame).getAttribute('data-screen'))
}

/** The screen that the frame shows now; `nothing` before it has read a session. */
export async function screenNow(frame: Frame | Page): Promise<string> {
  return (await drawn(frame).count()) === 0 ? 'nothing' : frameScreen(frame)
}

const drawn = (frame: Frame | Page) => frame.locator('article:not([data-screen=opening])')
