/** Escaped HTML, safe to insert into other HTML. */
export interface Markup {
  readonly markup: string
}

type Part = string | number | Markup | readonly Markup[] | false | undefined

/** Builds HTML from a template. Escapes each value that is not `Markup` itself. */
export function markup(texts: TemplateStringsArray, ...parts: Part[]): Markup {
  return { markup: texts.reduce((all, text, index) => all + written(parts[index - 1]) + text) }
}

function written(part: Part): string {
  if (part === undefined || part === false) return ''
  if (typeof part === 'string' || typeof part === 'number') return escape(String(part))
  return 'markup' in part ? part.markup : part.map(({ markup }) => markup).join('')
}

function escape(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;')
}
