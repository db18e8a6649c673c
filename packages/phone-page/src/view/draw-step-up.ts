import type { Screen } from '../screen.ts'
import { element } from './dom.ts'
import {
  button,
  type DrawingContext,
  type DrawnScreen,
  footer,
  headingOf,
  summaryOf,
} from './draw-screen.ts'
import { icon } from './icon.ts'

type StepUpScreen = Extract<Screen, { name: 'step_up' }>

/**
 * What a step-up needs. Progress is redrawn in place, so that focus and announcements stay calm.
 */
export function drawStepUp(first: StepUpScreen, context: DrawingContext): DrawnScreen {
  const { messages, onChoice } = context
  const text = messages.stepUp
  const { title, body } = first.step.kind === 'motion' ? text.motion : text.verifyAgain
  const heading = headingOf(title)
  const progress = element('progress', { 'aria-label': title })
  const recorded = element('p', { class: 'note' })
  const allow = button(text.allowMotion, () => onChoice('allow_motion'))
  const next = button(text.action, () => onChoice('continue_step_up'))
  const measure = element('div', { class: 'measure' }, progress, recorded)

  const update = (screen: Screen): boolean => {
    if (screen.name !== 'step_up' || screen.step.kind !== first.step.kind) return false
    const { kind, seconds, neededSeconds, motionAccess } = screen.step
    const isMotion = kind === 'motion'
    const mayMeasure = motionAccess === 'recording'
    measure.hidden = !isMotion || !mayMeasure
    allow.hidden = !isMotion || mayMeasure
    next.hidden = isMotion && !mayMeasure
    next.disabled = isMotion && seconds < neededSeconds
    progress.max = neededSeconds
    progress.value = Math.min(seconds, neededSeconds)
    recorded.textContent = text.recorded(seconds, neededSeconds)
    return true
  }
  update(first)
  return {
    title,
    heading,
    update,
    content: [
      icon('phone', 'busy'),
      heading,
      element('p', { class: 'lead' }, body),
      measure,
      ...summaryOf(first.request),
      footer(
        allow,
        next,
        element('p', { class: 'note' }, text.attemptsLeft(first.step.attemptsLeft)),
      ),
    ],
  }
}
