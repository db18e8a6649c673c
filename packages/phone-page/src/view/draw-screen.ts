import type {
  ApprovedScreen,
  AwaitingBrowserScreen,
  CompletedScreen,
  End,
  KeysScreen,
  PageScreen,
  RemovalScreen,
} from '../screen.ts'
import { element } from './dom.ts'
import { icon, type IconName, type Tone } from './icon.ts'
import { drawProblem } from './draw-problem.ts'
import { fillNodes } from './fill.ts'
import { qrCode } from './qr.ts'
import { drawRequest } from './draw-request.ts'
import { drawSetup } from './draw-setup.ts'
import { drawStepUp } from './draw-step-up.ts'
import {
  type DrawnScreen,
  type DrawingContext,
  closeButton,
  noticeBox,
  statement,
  headingOf,
  button,
  footer,
  decisionBar,
  summaryOf,
} from './parts.ts'

// oxlint-disable-next-line max-lines-per-function -- a switch: one case for each screen
export function drawScreen(
  screen: Exclude<PageScreen, KeysScreen | RemovalScreen>,
  context: DrawingContext,
): DrawnScreen {
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
    case 'unreported':
      return drawApproved(screen, context)
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

function drawApproved(screen: ApprovedScreen, context: DrawingContext): DrawnScreen {
  const { messages } = context
  const { name, request, isSynced } = screen
  // Others must approve too, and until the backend acts this user can take the approval back.
  const rule = name === 'approved' ? context.rule : undefined
  const body = rule ?? fillNodes(messages[`${name}.body`], { tenant: request.tenant_name })
  const close = closeButton(context)
  return statement(
    { symbol: ['check', 'good'], title: messages['approved.title'], body },
    ...summaryOf(request),
    ...(isSynced ? [element('p', { class: 'note' }, messages['approved.synced'])] : []),
    ...(context.isInbox ? [rule ? decisionBar([close], context) : footer(close)] : []),
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

/** Lists the user's phones, once nothing is left to decide. */
export function keysButton({ messages, onChoice }: DrawingContext): HTMLButtonElement {
  return button(messages['keys.title'], () => onChoice('keys'), { plain: true })
}

const SYMBOL_OF_END: Readonly<Record<End, [IconName, Tone]>> = {
  declined: ['cross', 'calm'],
  reported: ['shield', 'stop'],
  expired: ['clock', 'calm'],
  canceled: ['cross', 'calm'],
  suspended: ['mark', 'warn'],
  not_verified: ['mark', 'warn'],
  removed: ['check', 'calm'],
}
