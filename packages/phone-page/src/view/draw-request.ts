import type { Screen } from '../screen.ts'
import { element } from './dom.ts'
import {
  button,
  type DrawingContext,
  type DrawnScreen,
  footer,
  headingOf,
  pairs,
} from './draw-screen.ts'

type RequestScreen = Extract<Screen, { name: 'request' }>

/**
 * The request: who asks, from which page, what exactly. "Approve" and "This wasn't me" have the
 * same size and weight, so that a tired user does not approve by habit.
 */
export function drawRequest(screen: RequestScreen, context: DrawingContext): DrawnScreen {
  const { messages, onChoice, motionAccess } = context
  const text = messages.request
  const { request, notice } = screen
  const title = text.title(request.tenant_name)
  const heading = headingOf(title)
  const endsAt = performance.now() + request.expires_in_ms
  const timer = element('p', { class: 'note', role: 'timer' })
  const tick = () => {
    timer.textContent = text.timeLeft(minutesAndSeconds(endsAt - performance.now()))
  }
  tick()
  const origin = element(
    'div',
    { class: 'origin' },
    element('span', { class: 'label' }, text.page),
    element('bdi', { class: 'value' }, request.requesting_origin ?? text.pageUnknown),
    ...(request.requesting_origin === null
      ? []
      : [element('span', { class: 'note' }, text.pageNote)]),
  )
  const details = element('section', { 'aria-label': text.details }, pairs(rowsOf(screen, context)))
  const motion =
    motionAccess() === 'needs_permission'
      ? [
          element(
            'div',
            { class: 'optional' },
            button(text.allowMotion, () => onChoice('allow_motion'), { plain: true }),
            element('p', { class: 'note' }, text.motionNote),
          ),
        ]
      : []
  return {
    title,
    heading,
    tick,
    content: [
      heading,
      ...(notice === null
        ? []
        : [element('p', { class: 'notice', role: 'alert' }, messages.notices[notice])]),
      details,
      origin,
      element('p', { class: 'question' }, text.question),
      footer(
        button(text.approve, () => onChoice('approve')),
        button(text.report, () => onChoice('report'), { tone: 'stop' }),
        button(text.decline, () => onChoice('decline'), { plain: true }),
        timer,
      ),
      ...motion,
    ],
  }
}

function rowsOf({ request }: RequestScreen, { messages }: DrawingContext) {
  const { workflow, action, display } = request
  // Names of workflows and actions are identifiers of the tenant; spaces make them readable.
  const purpose = [workflow, action]
    .filter((name) => name !== null)
    .map((name) => name.replaceAll('_', ' '))
    .join(', ')
  return [
    ...display,
    ...(purpose === '' ? [] : [{ label: messages.request.purpose, value: purpose }]),
  ]
}

function minutesAndSeconds(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1_000))
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}
