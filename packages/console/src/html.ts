import { escapeHidden } from '@bonded/contract'

/** Markup that may be put into a page as it is. Only `html` makes it. */
export class Html {
  readonly markup: string

  constructor(markup: string) {
    this.markup = markup
  }
}

export type Part = Html | string | number | false | null | undefined | readonly Part[]

/**
 * Makes markup from a template. Every value is text: it is escaped, and characters that hide or
 * reorder text are written as `\u{…}`, so that stored text can neither be markup nor deceive.
 */
export function html(texts: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(texts.map((text, index) => text + markupOf(parts[index])).join(''))
}

function markupOf(part: Part): string {
  if (part === undefined || part === null || part === false) return ''
  if (part instanceof Html) return part.markup
  return typeof part === 'object' ? part.map(markupOf).join('') : escape(String(part))
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escape(text: string): string {
  return escapeHidden(text).replaceAll(/[&<>"']/g, (found) => ENTITIES[found] ?? '')
}
