import type { ElsewhereScreen, Screen, ScreenName } from '../screen.ts'
import { drawing, element } from './dom.ts'

/** The tone of a screen, which selects its color. */
export type Tone = 'busy' | 'good' | 'calm' | 'warn' | 'stop'

type Icon = 'phone' | 'check' | 'cross' | 'clock' | 'shield' | 'mark' | 'spinner'

/** Strokes in a box of 24 by 24. */
const STROKES: Record<Icon, string> = {
  phone:
    'M9 2.75h6A2.25 2.25 0 0 1 17.25 5v14A2.25 2.25 0 0 1 15 21.25H9A2.25 2.25 0 0 1 6.75 19V5A2.25 2.25 0 0 1 9 2.75zM10.75 18h2.5',
  check: 'M5.5 12.75l4.25 4.25L18.5 7.75',
  cross: 'M7 7l10 10M17 7L7 17',
  clock: 'M12 3.25a8.75 8.75 0 1 0 0 17.5a8.75 8.75 0 0 0 0-17.5zM12 7.5V12l3 2',
  shield: 'M12 3l7 2.5v5.4c0 4.6-2.9 8.2-7 10.1c-4.1-1.9-7-5.5-7-10.1V5.5zM12 8.25v4.5M12 16v.01',
  mark: 'M12 4.25l8.75 15.25H3.25zM12 10.25v4M12 16.9v.01',
  spinner: 'M12 3.5A8.5 8.5 0 1 1 3.5 12',
}

const LOOKS: Record<ScreenName | ElsewhereScreen, readonly [Tone, Icon]> = {
  starting: ['busy', 'spinner'],
  waiting: ['busy', 'spinner'],
  scanned: ['busy', 'phone'],
  evaluating: ['busy', 'spinner'],
  step_up: ['busy', 'phone'],
  bonded: ['good', 'check'],
  completed: ['good', 'check'],
  in_review: ['calm', 'clock'],
  declined: ['calm', 'cross'],
  unexpected: ['stop', 'shield'],
  not_verified: ['warn', 'mark'],
  killed: ['calm', 'cross'],
  expired: ['calm', 'clock'],
  unavailable: ['warn', 'mark'],
  elsewhere: ['warn', 'mark'],
  not_set_up: ['warn', 'mark'],
  unreachable: ['warn', 'mark'],
  obstructed: ['stop', 'shield'],
  no_room: ['calm', 'mark'],
}

/** The browser's proof has a step of its own, and looks like the other ones. */
const lookOf = (name: Screen['name']) => LOOKS[name as ScreenName] ?? LOOKS.step_up

/** The tone of a screen. */
export function toneOf(name: Screen['name']): Tone {
  return lookOf(name)[0]
}

/** The picture of a screen. Hidden from assistive technology, because the text says the same. */
export function badge(name: Screen['name']): HTMLElement {
  const icon = lookOf(name)[1]
  return element(
    'div',
    { class: `badge ${icon}`, 'aria-hidden': 'true' },
    drawing('svg', { viewBox: '0 0 24 24' }, drawing('path', { d: STROKES[icon] })),
  )
}
