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
import { fill, fillNodes } from './fill.ts'

type RequestScreen = Extract<Screen, { name: 'request' }>

/**
 * The request: who asks, from which page, what exactly. "Approve" and "This wasn't me" have the
 * same size and weight, so that a tired user does not approve by habit.
 */
export function drawRequest(screen: RequestScreen, context: DrawingContext): DrawnScreen {
  const { messages, onChoice, motion } = context
  const { request, notice } = screen
  const tenant = request.tenant_name
  const title = fill(messages['request.title'], { tenant })
  const heading = headingOf(fillNodes(messages['request.title'], { tenant }))
  const endsAt = performance.now() + request.expires_in_ms
  const timer = element('p', { class: 'note', role: 'timer' })
  const tick = () => {
    const time = minutesAndSeconds(endsAt - performance.now())
    timer.replaceChildren(...fillNodes(messages['request.time'], { time }))
  }
  tick()
  const origin = element(
    'div',
    { class: 'origin' },
    element('span', { class: 'label' }, messages['request.page']),
    element(
      'bdi',
      { class: 'value' },
      request.requesting_origin ?? messages['request.page.unknown'],
    ),
    ...(request.requesting_origin === null
      ? []
      : [element('span', { class: 'note' }, messages['request.page.note'])]),
  )
  const details = element(
    'section',
    { 'aria-label': messages['request.details'] },
    pairs(rowsOf(screen, context)),
  )
  const offer =
    motion.access() === 'needs_permission'
      ? [
          element(
            'div',
            { class: 'optional' },
            button(messages['motion.allow'], () => onChoice('allow_motion'), { plain: true }),
            element('p', { class: 'note' }, messages['motion.note']),
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
        : [element('p', { class: 'notice', role: 'alert' }, messages[`notice.${notice}`])]),
      details,
      origin,
      element('p', { class: 'question' }, messages['request.question']),
      footer(
        button(messages['action.approve'], () => onChoice('approve')),
        button(messages['action.report'], () => onChoice('report'), { tone: 'stop' }),
        button(messages['action.decline'], () => onChoice('decline'), { plain: true }),
        timer,
      ),
      ...offer,
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
    ...(purpose === '' ? [] : [{ label: messages['request.purpose'], value: purpose }]),
  ]
}

function minutesAndSeconds(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1_000))
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}
