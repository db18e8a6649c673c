import type { Messages } from '../messages/en.ts'
import type { MotionRecorder } from '../motion.ts'
import type { Choice, Screen } from '../screen.ts'
import { type DrawnScreen, drawScreen } from './draw-screen.ts'
import { element } from './dom.ts'

/** The page's view: draws screens and reports choices. */
export interface View {
  show(screen: Screen): void
}

/**
 * Draws into an element of the document. A new screen moves the focus to its heading, so that a
 * screen reader announces it; a redraw of the same screen leaves the focus alone.
 */
export function createView(
  root: HTMLElement,
  {
    messages,
    onChoice,
    motion,
  }: {
    readonly messages: Messages
    readonly onChoice: (choice: Choice) => void
    readonly motion: Pick<MotionRecorder, 'access' | 'seconds'>
  },
): View {
  let drawn: DrawnScreen | undefined
  let drawnName: Screen['name'] | undefined
  let ticking: ReturnType<typeof setInterval> | undefined
  return {
    show(screen) {
      if (drawn?.update?.(screen) === true) return
      clearInterval(ticking)
      const isFirst = drawn === undefined
      drawn = drawScreen(screen, { messages, onChoice, motion })
      const article = element('article', { 'data-screen': screen.name }, ...drawn.content)
      root.replaceChildren(article)
      document.title = drawn.title
      if (!isFirst || screen.name !== 'loading') drawn.heading?.focus()
      if (drawnName !== screen.name) scrollTo(0, 0)
      drawnName = screen.name
      if (drawn.tick !== undefined) ticking = setInterval(drawn.tick, 1_000)
    },
  }
}
