/**
 * The languages for a widget, the best first: the option of the page, then the language that the
 * page declares where the widget is, then those of the browser.
 */
export function wantedLanguages(
  locale: string | null | undefined,
  container: Element,
): readonly string[] {
  const declared = container.closest('[lang]')?.getAttribute('lang')
  return [locale, declared, ...navigator.languages].filter((tag): tag is string => Boolean(tag))
}
