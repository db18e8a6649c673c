import { purposeOf, type ShownRequest } from '@bonded/phone'
import type { MessageKey, Messages } from '../messages/en.ts'
import type { RequestScreen } from '../screen.ts'
import { element } from './dom.ts'
import {
  button,
  decisionBar,
  type DrawingContext,
  type DrawnScreen,
  headingOf,
  lengthOf,
  noticeBox,
  pairs,
} from './parts.ts'
import { fill, fillNodes } from './fill.ts'
import { drawLines } from './lines.ts'
import { readToEnd, type ReadToEndOptions } from './read-to-end.ts'
import { verbatim } from './verbatim.ts'

/**
 * The request: who asks, from which page, what exactly. Requester, page and warning come first,
 * because no pair has a meaning without them. Approve is the one primary action. It ignores a tap
 * that may have been meant for what was there before, and all of them until the user has seen the
 * request.
 */
export function drawRequest(screen: RequestScreen, context: DrawingContext): DrawnScreen {
  const { messages } = context
  const { request } = screen
  const tenant = request.tenant_name
  const title = fill(messages['request.title'], { tenant })
  const heading = headingOf(fillNodes(messages['request.title'], { tenant }))
  heading.classList.toggle('long', tenant.length > LONG_NAME)
  const timer = drawTimer(request.expires_in_ms, context)
  const list = pairs(rowsOf(screen, context))
  const rows = Array.from(list.children, (row) => row as HTMLElement)
  const requester = drawRequester(request, messages)
  const page = context.isInbox ? [] : [drawPage(request.requesting_origin, messages)]
  const text = request.text === null ? [] : [drawLines(request.text)]
  const lines = text.flatMap(({ children }) => Array.from(children, (line) => line as HTMLElement))
  const noPage = request.requesting_origin === null
  const question = noPage ? 'request.question.no_page' : 'request.question'
  const rule =
    context.rule === undefined ? [] : [element('p', { class: 'question' }, ...context.rule)]
  const warning = element('p', { class: 'question' }, messages[question])
  const approval = drawApproval(
    {
      request,
      lead: rows[0] ?? warning,
      parts: [heading, ...requester, ...page, ...rule, warning, ...rows, ...lines],
      endMs: lines.length > 0 ? TEXT_END_MS : 0,
    },
    context,
  )
  return {
    title,
    heading,
    tick() {
      timer.tick()
      approval.measure()
    },
    onView: approval.measure,
    content: [
      heading,
      timer.content,
      ...noticesOf(screen, messages),
      ...requester,
      ...page,
      ...rule,
      warning,
      element('section', { 'aria-label': messages['request.details'] }, list),
      ...text,
      approval.content,
    ],
  }
}

/** The actions. A screen reader calls Approve dimmed while it approves nothing, and says why. */
function drawApproval(
  {
    request,
    ...shown
  }: { request: ShownRequest } & Pick<ReadToEndOptions, 'lead' | 'parts' | 'endMs'>,
  context: DrawingContext,
) {
  const { messages, onChoice, guard, read } = context
  const hint = element(
    'p',
    { class: 'note read-all', id: 'read-all' },
    messages['request.read_all'],
  )
  hint.hidden = true
  const approve = button(messages['action.approve'], (event) => {
    if (!guard.permits(event)) return
    if (reading.permits(event)) return onChoice('approve')
    // The next press must not be the same tap, or its repetition.
    guard.restart()
    reading.readOn()
  })
  const content = decisionBar([hint, approve], context)
  let [isInert, hasUnread] = [true, true]
  const update = () => {
    if (isInert || hasUnread) approve.setAttribute('aria-disabled', 'true')
    else approve.removeAttribute('aria-disabled')
    if (hasUnread) approve.setAttribute('aria-describedby', hint.id)
    else approve.removeAttribute('aria-describedby')
  }
  const { expires_in_ms: _changesAlways, ...said } = request
  const reading = readToEnd({
    content: JSON.stringify(said),
    read,
    ...shown,
    actions: content,
    onMeasured(next) {
      hasUnread = next
      // It keeps its place once it was there: nothing moves under the user's finger.
      if (hasUnread) hint.hidden = false
      hint.classList.toggle('done', !hasUnread)
      update()
    },
  })
  guard.follow((next) => {
    isInert = next
    update()
  })
  return { content, measure: () => reading.measure() }
}

/** How long the end of a text is in view before Approve acts. */
const TEXT_END_MS = 1_000

/** The longest name with which the heading takes two lines. */
const LONG_NAME = 32

function drawTimer(expiresInMs: number, { messages, timeLeft = clockOf }: DrawingContext) {
  const endsAt = performance.now() + expiresInMs
  const content = element('p', { class: 'note', role: 'timer' })
  const tick = () => {
    const time = timeLeft(endsAt - performance.now())
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
  return drawSource(
    messages['request.page'],
    origin ?? messages['request.page.unknown'],
    ...(origin === null ? [] : [[messages['request.page.note']]]),
  )
}

/** For whom the tenant asks, as the tenant says. */
function drawRequester(
  { requester, tenant_name: tenant }: ShownRequest,
  messages: Messages,
): HTMLElement[] {
  if (requester === null) return []
  const { kind, name, detail } = requester
  const word = `requester.${kind}`
  const what = Object.hasOwn(messages, word) ? [`${messages[word as MessageKey]} · `] : []
  const details = detail === null ? [] : [verbatim(detail)]
  const said = fillNodes(messages['request.requester.note'], { tenant })
  const label = messages['request.requester']
  return [drawSource(label, name, ...details, [...what, ...said])]
}

/** Where a request comes from, and who says so. */
function drawSource(
  label: string,
  value: string,
  ...notes: readonly (readonly (Node | string)[])[]
): HTMLElement {
  return element(
    'dl',
    { class: 'origin', translate: 'no' },
    element(
      'div',
      { class: lengthOf(value) },
      element('dt', {}, label),
      element('dd', { dir: 'auto' }, ...verbatim(value)),
      ...notes.map((note) => element('dd', { class: 'note', dir: 'auto' }, ...note)),
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

/** Minutes and begun seconds: 1:05. A request of a page waits 15 minutes at most. */
export function clockOf(ms: number): string {
  return new Date(Math.max(0, ms) + 999).toISOString().slice(14, 19).replace(/^0/, '')
}
