/**
 * The first wanted language that is available; undefined for none. It is the one rule of the
 * widget, the phone page, the frame and the titles of tenants: tags of BCP 47, also with old codes
 * (`iw`) or an underscore, match exactly, else by language and script. Traditional Chinese does not
 * match Simplified, nor Serbian in Latin letters the one in Cyrillic. Norwegian is one language,
 * which has three codes.
 *
 * @example matchLanguage(['zh-TW', 'de-AT'], ['zh', 'de']) // 'de'
 */
export function matchLanguage(
  wanted: readonly string[],
  available: readonly string[],
): string | undefined {
  let found: string | undefined
  wanted.some(
    (tag) =>
      (found = available.includes(tag)
        ? tag
        : available.find((each) => readingOf(each) === readingOf(tag))),
  )
  return found
}

/** A language with its script, such as `zhHant`. */
function readingOf(tag: string): string {
  try {
    const { language, script } = new Intl.Locale(tag.replaceAll('_', '-')).maximize()
    return language.replace(/^n[bn]$/, 'no') + script
  } catch {
    // No tag, or an engine without locales, such as Hermes.
    return tag.split(/[-_]/)[0]!
  }
}

/** The direction of a language's script. */
export function directionOf(tag: string): 'ltr' | 'rtl' {
  return /^(?:ar|fa|he|ur)\b/.test(tag) ? 'rtl' : 'ltr'
}
