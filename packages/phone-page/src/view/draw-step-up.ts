import type { Screen } from '../screen.ts'
import { NEEDED_MOTION_SECONDS } from '../motion.ts'
import { element } from './dom.ts'
import {
  button,
  decisionBar,
  type DrawingContext,
  type DrawnScreen,
  headingOf,
  summaryOf,
} from './parts.ts'
import { fill } from './fill.ts'
import { icon } from './icon.ts'

type StepUpScreen = Extract<Screen, { name: 'step_up' }>

/**
 * What a step-up needs. Progress is redrawn in place, so that focus and announcements stay calm.
 * The user can still decline.
 */
export function drawStepUp(first: StepUpScreen, context: DrawingContext): DrawnScreen {
  const { messages, onChoice } = context
  const { kind, attemptsLeft } = first.step
  const title = messages[`step_up.${kind}.title`]
  const heading = headingOf([title])
  const next = button(messages['action.continue'], () => onChoice('continue'))
  const measure = kind === 'motion' ? drawMeasure(title, context, next) : undefined
  return {
    title,
    heading,
    update: (screen) => {
      if (screen !== first) return false
      measure?.tick()
      return true
    },
    ...(measure === undefined ? {} : { tick: measure.tick }),
    content: [
      icon('phone', 'busy'),
      heading,
      element('p', { class: 'lead' }, messages[`step_up.${kind}.body`]),
      ...(measure?.content ?? []),
      ...summaryOf(first.request),
      element(
        'p',
        { class: 'note' },
        fill(messages['step_up.attempts'], { count: String(attemptsLeft) }),
      ),
      decisionBar([next], context),
    ],
  }
}

/** The recording of the motion sensors, until it is long enough to continue. */
function drawMeasure(title: string, { messages, motion }: DrawingContext, next: HTMLButtonElement) {
  const needed = NEEDED_MOTION_SECONDS
  const progress = element('progress', { 'aria-label': title, max: String(needed) })
  const recorded = element('p', { class: 'note' })
  const measure = element('div', { class: 'measure' }, progress, recorded)
  const missing = element('p', { class: 'notice', role: 'alert' })

  const tick = () => {
    const access = motion.access()
    const seconds = Math.min(motion.seconds(), needed)
    measure.hidden = access !== 'recording'
    next.hidden = access !== 'recording'
    next.disabled = seconds < needed
    progress.value = seconds
    recorded.textContent = fill(messages['step_up.recorded'], {
      seconds: String(seconds),
      needed: String(needed),
    })
    const cause =
      access === 'recording'
        ? ''
        : `${messages['need.motion']} ${messages['problem.app_required.body']}`
    missing.hidden = cause === ''
    if (missing.textContent !== cause) missing.textContent = cause
  }
  tick()
  return { content: [measure, missing], tick }
}
