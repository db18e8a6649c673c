let everything: CSSStyleSheet | undefined

/**
 * Searches the page as if every element received pointer events. Otherwise a search by point does
 * not find an overlay that lets clicks through. The page is not drawn meanwhile.
 */
export function withPointerEvents<T>(search: () => T): T {
  if (!everything) {
    everything = new CSSStyleSheet()
    everything.replaceSync('*,::before,::after{pointer-events:auto!important}')
  }
  const { adoptedStyleSheets } = document
  const sheets = [...adoptedStyleSheets]
  document.adoptedStyleSheets = [...sheets, everything]
  try {
    return search()
  } finally {
    document.adoptedStyleSheets = sheets
  }
}
