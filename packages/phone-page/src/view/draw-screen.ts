import { isAmount } from '@bonded/contract'
import type { ShownRequest } from '@bonded/phone'
import type { Messages } from '../messages/en.ts'
import type { MotionRecorder } from '../motion.ts'
import type {
  AwaitingBrowserScreen,
  Choice,
  CompletedScreen,
  End,
  Removal,
  Screen,
} from '../screen.ts'
import type { TapGuard } from '../tap-guard.ts'
import { element } from './dom.ts'
import { icon, type IconName, type Tone } from './icon.ts'
import { drawKeys, drawRemoval } from './draw-keys.ts'
import { drawProblem } from './draw-problem.ts'
import { fillNodes } from './fill.ts'
import { grouped } from './value.ts'
import { qrCode } from './qr.ts'
import { drawRequest } from './draw-request.ts'
import { drawSetup } from './draw-setup.ts'
import { drawStepUp } from './draw-step-up.ts'
import type { ReadRequests } from './read-to-end.ts'
import { verbatim } from './verbatim.ts'

/** A screen as it is in the document. */
export interface DrawnScreen {
  readonly title: string
  readonly content: readonly Node[]
  /** Receives the focus when the screen appears. */
  readonly heading?: HTMLElement
  /** Redraws in place and returns true, where the new screen is of the same kind. */
  readonly update?: (screen: Screen) => boolean
  /** Called once a second. */
  readonly tick?: () => void
  /** Called once the screen is in the document, and when the user sees another part of it. */
  readonly onView?: () => void
}

export interface DrawingContext {
  readonly messages: Messages
  /** The page's language, and then those that the user reads. */
  readonly languages: readonly string[]
  readonly onChoice: (choice: Choice) => void
  readonly onRemove: (removal: Removal) => void
  readonly motion: Pick<MotionRecorder, 'access' | 'seconds'>
  readonly guard: TapGuard
  readonly read: ReadRequests
}

// oxlint-disable-next-line max-lines-per-function -- a switch: one case for each screen
export function drawScreen(screen: Screen, context: DrawingContext): DrawnScreen {
  const { messages, onChoice } = context
  const goOn = () => button(messages['action.continue'], () => onChoice('continue'))
  /** A step that the user takes on this phone. */
  const next = (title: string, body: readonly (Node | string)[], ...more: readonly Node[]) =>
    statement({ symbol: ['phone', 'busy'], title, body }, ...more)
  switch (screen.name) {
    case 'loading':
      return {
        title: messages['page.title'],
        content: [
          icon('spinner', 'busy'),
          element('h1', { class: 'unseen' }, messages['page.title']),
        ],
      }
    case 'desktop':
      return next(
        messages['desktop.title'],
        [messages['desktop.body']],
        qrCode(screen.link, messages['desktop.code']),
      )
    case 'setup':
      return drawSetup(screen, context)
    case 'new_key':
      return next(
        messages['new_key.title'],
        fillNodes(messages['new_key.body'], { tenant: screen.tenant }),
        footer(goOn()),
      )
    case 'renew':
      return next(messages['renew.title'], [messages['renew.body']], footer(goOn()))
    case 'motion':
      return next(
        messages['step_up.motion.title'],
        [messages['motion.note']],
        footer(button(messages['motion.allow'], () => onChoice('allow_motion'))),
      )
    case 'request':
      return drawRequest(screen, context)
    case 'step_up':
      return drawStepUp(screen, context)
    case 'browser_key':
      return next(
        messages['browser_key.title'],
        [messages['browser_key.body']],
        ...summaryOf(screen.request),
        decisionBar([goOn()], context),
      )
    case 'awaiting_browser':
      return drawAwaitingBrowser(screen, context)
    case 'working': {
      const title = messages[`task.${screen.task}`]
      const heading = headingOf([title])
      return {
        title,
        heading,
        content: [icon('spinner', 'busy'), heading, ...summaryOf(screen.request)],
      }
    }
    case 'approved':
      return drawApproved(screen, messages)
    case 'completed':
      return drawCompleted(screen, context)
    case 'ended': {
      const { end, tenant } = screen
      const body = fillNodes(messages[`end.${end}.body`], { tenant })
      const title = messages[`end.${end}.title`]
      const isRegistered = end !== 'removed'
      const actions = isRegistered ? [keysButton(context)] : []
      return statement(
        { symbol: SYMBOL_OF_END[end], title, body },
        footer(closeButton(context), ...actions),
      )
    }
    case 'keys':
      return drawKeys(screen, context)
    case 'removal':
      return drawRemoval(screen, context)
    case 'problem':
      return drawProblem(screen, context)
  }
}

/** The user can still stop the request: a page that someone else opened may be what waits. */
function drawAwaitingBrowser(
  { request, notice }: AwaitingBrowserScreen,
  context: DrawingContext,
): DrawnScreen {
  const { messages } = context
  return statement(
    {
      symbol: ['computer', 'busy'],
      title: messages['browser.title'],
      body: fillNodes(messages['browser.body'], { tenant: request.tenant_name }),
    },
    ...(notice === null ? [] : [noticeBox(messages[`notice.${notice}`])]),
    element('p', { class: 'note' }, messages['browser.same_phone']),
    ...summaryOf(request),
    decisionBar([], context),
  )
}

function drawApproved(
  { request, isSynced }: Extract<Screen, { name: 'approved' }>,
  messages: Messages,
): DrawnScreen {
  const body = fillNodes(messages['approved.body'], { tenant: request.tenant_name })
  return statement(
    { symbol: ['check', 'good'], title: messages['approved.title'], body },
    ...summaryOf(request),
    ...(isSynced ? [element('p', { class: 'note' }, messages['approved.synced'])] : []),
  )
}

/**
 * The words by what the tenant's backend said. Without a word a completion is success (protocol 4);
 * an outcome that a newer service may add claims none.
 */
function drawCompleted(
  { request, outcome }: CompletedScreen,
  context: DrawingContext,
): DrawnScreen {
  const { messages } = context
  const [symbol, tone, title, body] =
    outcome === null || outcome === 'accepted'
      ? (['check', 'good', 'completed.title', 'completed.body'] as const)
      : (['clock', 'calm', 'completed.received.title', 'completed.in_review.body'] as const)
  return statement(
    {
      symbol: [symbol, tone],
      title: messages[title],
      body: fillNodes(messages[body], { tenant: request.tenant_name }),
    },
    ...summaryOf(request),
    footer(closeButton(context), keysButton(context)),
  )
}

/** Closes the page. Some browsers do not permit it; the user then closes the tab. */
export function closeButton({ messages, onChoice }: DrawingContext): HTMLButtonElement {
  const close = button(messages['action.close'], () => {
    onChoice('close')
    close.hidden = true
  })
  return close
}

/** Lists the user's phones, once nothing is left to decide. */
function keysButton({ messages, onChoice }: DrawingContext): HTMLButtonElement {
  return button(messages['keys.title'], () => onChoice('keys'), { plain: true })
}

const SYMBOL_OF_END: Readonly<Record<End, [IconName, Tone]>> = {
  declined: ['cross', 'calm'],
  reported: ['shield', 'stop'],
  expired: ['clock', 'calm'],
  canceled: ['cross', 'calm'],
  not_verified: ['mark', 'warn'],
  removed: ['check', 'calm'],
}

/** What just went wrong. A screen reader announces it at once. */
export function noticeBox(text: string): HTMLElement {
  return element('p', { class: 'notice', role: 'alert' }, text)
}

/** A screen that says one thing. */
export function statement(
  {
    symbol: [name, tone],
    title,
    body,
  }: { symbol: readonly [IconName, Tone]; title: string; body: readonly (Node | string)[] },
  ...more: readonly Node[]
): DrawnScreen {
  const heading = headingOf([title])
  return {
    title,
    heading,
    content: [icon(name, tone), heading, element('p', { class: 'lead' }, ...body), ...more],
  }
}

export function headingOf(text: readonly (Node | string)[]): HTMLElement {
  return element('h1', { tabindex: '-1' }, ...text)
}

export function button(
  text: string,
  onClick: (event: MouseEvent) => void,
  { plain = false, tone }: { plain?: boolean; tone?: 'stop' } = {},
): HTMLButtonElement {
  const look = ['button', plain ? 'plain' : '', tone ?? ''].filter(Boolean).join(' ')
  const made = element('button', { type: 'button', class: look }, text)
  made.addEventListener('click', onClick)
  return made
}

/** The actions at the bottom of the screen, always in view. */
export function footer(...actions: Node[]): HTMLElement {
  return element('div', { class: 'actions' }, ...actions)
}

/** One primary action, and below it the two ways to decline. */
export function decisionBar(
  primary: readonly Node[],
  { messages, onChoice }: Pick<DrawingContext, 'messages' | 'onChoice'>,
): HTMLElement {
  const report = button(messages['action.report'], () => onChoice('report'), { tone: 'stop' })
  const decline = button(messages['action.decline'], () => onChoice('decline'), { plain: true })
  const rejections = element('div', { class: 'refusals' }, report, decline)
  return footer(...primary, rejections)
}

/** The request in short, so that the user still sees what the page is working on. */
export function summaryOf(request: ShownRequest | null): Node[] {
  if (request === null || request.display.length === 0) return []
  return [pairs(request.display)]
}

/**
 * Labels and values: a dense list, in which each pair has a box of its own that its content cannot
 * leave. The first amount of money is the largest text of the list.
 */
export function pairs(rows: readonly { label: string; value: string }[]): HTMLElement {
  const amount = rows.findIndex(({ value }) => isAmount(value))
  return element(
    'dl',
    { class: 'pairs' },
    ...rows.map(({ label, value }, index) =>
      element(
        'div',
        { class: index === amount ? 'amount' : lengthOf(value) },
        element('dt', { dir: 'auto' }, ...verbatim(label)),
        element('dd', { dir: 'auto' }, ...grouped(value)),
      ),
    ),
  )
}

/** A longer value is a sentence rather than a name or a number, and is drawn smaller. */
const LONG = 60

/** The class of a box by its value. */
export function lengthOf(value: string): 'short' | 'long' {
  return value.length > LONG ? 'long' : 'short'
}
