import type { CheckedSetup } from './arguments.ts'
import { findContainer } from './container/find-container.ts'
import { wantedLanguages } from './messages/language.ts'
import { loadMessages } from './messages/load.ts'
import { en } from './messages/messages.ts'
import { type BondOutcome, unavailable } from './outcome.ts'

/** A browser or a page in which no part of the widget works. */
export type Unfitness = 'browser_too_old' | 'built_ins_replaced'

/**
 * Why the widget cannot run here; undefined if it can. Newer than the browsers that it does not
 * support are streams of compressed data (Safari 16.4, Firefox 113) and dynamic units (Chrome 108).
 *
 * A page may have replaced the JSON of arrays, which every request contains, or the iteration of
 * arrays, texts, maps and sets, on which the widget and functions of the browser rely.
 */
export function unfitness(): Unfitness | undefined {
  if (!('CompressionStream' in window && CSS.supports('height', '1dvh'))) return 'browser_too_old'
  try {
    const pair = [...new Set('ab')] as unknown as [string, string]
    if (JSON.stringify([...new Map([pair])]) === '[["a","b"]]') return undefined
  } catch {
    // As below.
  }
  return 'built_ins_replaced'
}

/**
 * Ends a request for a bond, and says so in the container with nothing that needs a newer browser,
 * or iteration where the page has replaced it.
 */
export function refuse(unfit: Unfitness, setup: Partial<CheckedSetup> | undefined): BondOutcome {
  console.error('Pulse: the widget failed.', unfit)
  const container = findContainer(setup?.containerId)
  if (container) {
    const { title, body } = en.screens.not_set_up
    // A widget of this or an earlier request hides the content of the container itself.
    const place = container.shadowRoot ?? container
    place.textContent = `${title}. ${body}`
    if (unfit === 'browser_too_old')
      void loadMessages(wantedLanguages(setup?.locale, container), setup?.origin).then(
        ({ messages }) => (place.textContent = `${messages.newerTitle}. ${messages.newerBody}`),
      )
  }
  return unavailable(unfit)
}
