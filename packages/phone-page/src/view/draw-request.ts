import { purposeOf } from '@bonded/phone'
import type { Messages } from '../messages/en.ts'
import type { RequestScreen } from '../screen.ts'
import { element } from './dom.ts'
import {
  button,
  decisionBar,
  type DrawingContext,
  type DrawnScreen,
  headingOf,
  noticeBox,
  pairs,
} from './draw-screen.ts'
import { fill, fillNodes } from './fill.ts'

/**
 * The request: who asks, from which page, what exactly. Approve is the one primary action, and
 * ignores a tap that may have been meant for what was there before.
 */
export function drawRequest(screen: RequestScreen, context: DrawingContext): DrawnScreen {
  const { messages } = context
  const { request } = screen
  const tenant = request.tenant_name
  const title = fill(messages['request.title'], { tenant })
  const heading = headingOf(fillNodes(messages['request.title'], { tenant }))
  const timer = drawTimer(request.expires_in_ms, messages)
  const details = element(
    'section',
    { 'aria-label': messages['request.details'] },
    pairs(rowsOf(screen, context)),
  )
  const question =
    request.requesting_origin === null ? 'request.question.no_page' : 'request.question'
  return {
    title,
    heading,
    tick: timer.tick,
    content: [
      heading,
      timer.content,
      ...noticesOf(screen, messages),
      details,
      drawPage(request.requesting_origin, messages),
      element('p', { class: 'question' }, messages[question]),
      decisionBar([approveButton(context)], context),
    ],
  }
}

/** Approve, which a screen reader calls dimmed while it ignores taps. */
function approveButton({ messages, onChoice, guard }: DrawingContext): HTMLButtonElement {
  const approve = button(messages['action.approve'], (event) => {
    if (guard.permits(event)) onChoice('approve')
  })
  guard.follow((isInert) => {
    if (isInert) approve.setAttribute('aria-disabled', 'true')
    else approve.removeAttribute('aria-disabled')
  })
  return approve
}

function drawTimer(expiresInMs: number, messages: Messages) {
  const endsAt = performance.now() + expiresInMs
  const content = element('p', { class: 'note', role: 'timer' })
  const tick = () => {
    const time = minutesAndSeconds(endsAt - performance.now())
    content.replaceChildren(...fillNodes(messages['request.time'], { time }))
  }
  tick()
  return { content, tick }
}

function noticesOf({ notice, isAnother }: RequestScreen, messages: Messages): HTMLElement[] {
  const texts = [
    ...(isAnother ? [messages['notice.another_request']] : []),
    ...(notice === null ? [] : [messages[`notice.${notice}`]]),
  ]
  return texts.map(noticeBox)
}

/** The page as the browser reported it, in a box like the values. */
export function drawPage(origin: string | null, messages: Messages): HTMLElement {
  const note = element('dd', { class: 'note' }, messages['request.page.note'])
  return element(
    'dl',
    { class: 'origin' },
    element(
      'div',
      {},
      element('dt', {}, messages['request.page']),
      element('dd', { dir: 'auto' }, origin ?? messages['request.page.unknown']),
      ...(origin === null ? [] : [note]),
    ),
  )
}

function rowsOf({ request }: RequestScreen, { messages, languages }: DrawingContext) {
  const purpose = purposeOf(request, languages)
  return [
    ...request.display,
    ...(purpose === null ? [] : [{ label: messages['request.purpose'], value: purpose }]),
  ]
}

function minutesAndSeconds(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1_000))
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}
