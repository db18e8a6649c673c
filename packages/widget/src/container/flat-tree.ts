/** The parent in the flat tree: through slots and shadow roots. */
export function parentOf(element: Element): Element | null {
  if (element.assignedSlot) return element.assignedSlot
  const root = element.getRootNode()
  return element.parentElement ?? (root instanceof ShadowRoot ? root.host : null)
}

/** The element and its ancestors in the flat tree, up to the root of the document. */
export function lineOf(element: Element): Element[] {
  const line: Element[] = []
  for (let next: Element | null = element; next; next = parentOf(next)) line.push(next)
  return line
}
