import assert from 'node:assert/strict'
import type { Frame, Page } from 'playwright-core'
import { type Harness, init, require } from '../harness.ts'

/** The reserved container of most scenes. */
export const WIDGET = '<div data-pulse-widget id="widget"></div>'
/** Longer than the grace that the widget gives a breach. */
export const PAST_GRACE_MS = 11_000

export interface Containment {
  readonly verdict: 'ok' | 'unverified' | 'breached'
  readonly breaches: readonly string[]
}

/** A page around the widget, and what happens on it. */
export interface Scene {
  /** Markup with the container. By default only the container. */
  readonly body?: string
  /** A script that changes the page, such as `widget.style.opacity = 0`. */
  readonly change?: string
}

/** Opens the page of a scene, which records the events that it sees. */
export async function openScene(h: Harness, { body = WIDGET }: Scene): Promise<Page> {
  const page = await h.open({ body, clock: true })
  await page.evaluate(
    `window.seen = []; widget.addEventListener('pulse:containment', ({ detail }) => seen.push(detail))`,
  )
  await init(page)
  return page
}

/** Requests a bond on the page of a scene, and waits for its QR code. */
export async function openWaiting(h: Harness, scene: Scene): Promise<Page> {
  const page = await openScene(h, scene)
  await require(page)
  await page.locator('.qr').waitFor({ state: 'attached' })
  return page
}

/** Runs a script of a scene. */
export async function act(page: Page, script: string | undefined): Promise<void> {
  if (script !== undefined) await page.evaluate(`void (() => { ${script} })()`)
}

/** The verdicts that the page has seen. */
export function seen(page: Page | Frame): Promise<Containment[]> {
  return page.evaluate('seen') as Promise<Containment[]>
}

/** Waits until the newest event has a verdict. */
export async function verdict(page: Page, expected: Containment['verdict']): Promise<Containment> {
  try {
    await page.waitForFunction(
      `seen.length > 0 && seen.at(-1).verdict === ${JSON.stringify(expected)}`,
    )
  } catch {
    assert.fail(`expected ${expected}, but the page saw ${JSON.stringify(await seen(page))}`)
  }
  return (await seen(page)).at(-1)!
}
