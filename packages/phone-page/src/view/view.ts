import type { Screen } from '../screen.ts'
import type { TapGuard } from '../tap-guard.ts'
import type { DrawnScreen } from './parts.ts'
import { element } from './dom.ts'

/** The page's view: draws screens and reports choices. */
export interface View<S> {
  show(screen: S): void
}

/**
 * Draws into an element of the document. A new screen moves the focus to its heading, so that a
 * screen reader announces it; a redraw of the same screen leaves the focus alone.
 */
export function createView<S extends Screen>(
  root: HTMLElement,
  draw: (screen: S) => DrawnScreen,
  guard: Pick<TapGuard, 'restart'>,
): View<S> {
  let drawn: DrawnScreen | undefined
  let drawnName: Screen['name'] | undefined
  let ticking: ReturnType<typeof setInterval> | undefined
  for (const type of ['scroll', 'resize']) addEventListener(type, () => drawn?.onView?.())
  return {
    show(screen) {
      if (drawn?.update?.(screen) === true) return
      clearInterval(ticking)
      const isFirst = drawn === undefined
      guard.restart()
      drawn = draw(screen)
      const article = element('article', { 'data-screen': screen.name }, ...drawn.content)
      root.replaceChildren(article)
      document.title = drawn.title
      if (drawnName !== screen.name) scrollTo(0, 0)
      if (!isFirst || screen.name !== 'loading') drawn.heading?.focus()
      drawnName = screen.name
      drawn.onView?.()
      if (drawn.tick !== undefined) ticking = setInterval(drawn.tick, 1_000)
    },
  }
}
