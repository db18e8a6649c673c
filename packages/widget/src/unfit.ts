import { wantedLanguages } from './messages/language.ts'
import { loadMessages } from './messages/load.ts'
import { en } from './messages/messages.ts'

/** A browser or a page in which no part of the widget works. */
export type Unfitness = 'browser_too_old' | 'built_ins_replaced'

/**
 * Why the widget cannot run here; undefined if it can. Newer than the browsers that it does not
 * support are streams of compressed data (Safari 16.4, Firefox 113) and dynamic units (Chrome 108).
 * A page may have replaced the JSON of arrays, which every request contains.
 */
export function unfitness(): Unfitness | undefined {
  if (!('CompressionStream' in window && CSS.supports('height', '1dvh'))) return 'browser_too_old'
  return JSON.stringify([[]]) === '[[]]' ? undefined : 'built_ins_replaced'
}

/** Says so in the container, with nothing that needs a newer browser. */
export async function explainUnfit(
  unfit: Unfitness,
  container: HTMLElement,
  { locale, origin }: { readonly locale: string | undefined; readonly origin: string },
): Promise<void> {
  const { title, body } = en.screens.not_set_up
  container.textContent = `${title}. ${body}`
  if (unfit === 'built_ins_replaced') return
  const { messages } = await loadMessages(wantedLanguages(locale, container), origin)
  container.textContent = `${messages.newerTitle}. ${messages.newerBody}`
}
