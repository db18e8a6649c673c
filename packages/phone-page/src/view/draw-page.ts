import type { PageScreen } from '../screen.ts'
import { drawKeys, drawRemoval } from './draw-keys.ts'
import { drawScreen } from './draw-screen.ts'
import type { DrawingContext, DrawnScreen } from './parts.ts'

/** Draws a screen of the page of a link. It lists phones, which the inbox does not load. */
export function drawPage(screen: PageScreen, context: DrawingContext): DrawnScreen {
  if (screen.name === 'keys') return drawKeys(screen, context)
  if (screen.name === 'removal') return drawRemoval(screen, context)
  return drawScreen(screen, context)
}
