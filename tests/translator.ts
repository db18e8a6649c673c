/**
 * What a translator of a browser does, as a function of a page: it wraps each text node that it may
 * translate into two elements, and writes other words. A script of a page sees `translate` as
 * inherited, as translators do. Shadow roots are followed, because some translators do.
 */
export const TRANSLATOR = `(root) => {
  const translate = (node) => {
    if (node.nodeType === Node.TEXT_NODE) {
      if (node.data.trim() === '' || node.parentElement?.translate === false) return
      const [outer, inner] = [document.createElement('font'), document.createElement('font')]
      inner.textContent = node.data.replace(/\\S/gu, '×')
      outer.append(inner)
      node.replaceWith(outer)
      return
    }
    if (['SCRIPT', 'STYLE'].includes(node.nodeName)) return
    for (const child of [...node.childNodes, ...(node.shadowRoot?.childNodes ?? [])]) translate(child)
  }
  translate(root)
}`
