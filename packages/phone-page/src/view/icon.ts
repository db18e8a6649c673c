import { drawing, element } from './dom.ts'

/** The mood of a screen, which decides its color. */
export type Tone = 'calm' | 'good' | 'warn' | 'stop' | 'busy'
export type IconName =
  | 'phone'
  | 'computer'
  | 'check'
  | 'cross'
  | 'clock'
  | 'shield'
  | 'mark'
  | 'spinner'

/** Strokes in a box of 24 by 24. */
const STROKES: Record<IconName, string> = {
  phone:
    'M9 2.75h6A2.25 2.25 0 0 1 17.25 5v14A2.25 2.25 0 0 1 15 21.25H9A2.25 2.25 0 0 1 6.75 19V5A2.25 2.25 0 0 1 9 2.75zM10.75 18h2.5',
  computer: 'M5 4.75h14v10.5H5zM2.75 18.75h18.5',
  check: 'M5.5 12.75l4.25 4.25L18.5 7.75',
  cross: 'M7 7l10 10M17 7L7 17',
  clock: 'M12 3.25a8.75 8.75 0 1 0 0 17.5a8.75 8.75 0 0 0 0-17.5zM12 7.5V12l3 2',
  shield: 'M12 3l7 2.5v5.4c0 4.6-2.9 8.2-7 10.1c-4.1-1.9-7-5.5-7-10.1V5.5zM12 8.25v4.5M12 16v.01',
  mark: 'M12 4.25l8.75 15.25H3.25zM12 10.25v4M12 16.9v.01',
  spinner: 'M12 3.5A8.5 8.5 0 1 1 3.5 12',
}

/** A decorative icon: the words beside it say the same. */
export function icon(name: IconName, tone: Tone): HTMLElement {
  return element(
    'div',
    { class: `icon ${name}`, 'data-tone': tone, 'aria-hidden': 'true' },
    drawing('svg', { viewBox: '0 0 24 24' }, drawing('path', { d: STROKES[name] })),
  )
}
