import type { ProblemKind } from '../problem.ts'
import type { ProblemScreen } from '../screen.ts'
import { element } from './dom.ts'
import {
  button,
  closeButton,
  type DrawingContext,
  type DrawnScreen,
  footer,
  statement,
} from './parts.ts'
import { fillNodes } from './fill.ts'

const CAN_RETRY: ReadonlySet<ProblemKind> = new Set([
  'passkey_missing',
  'offline',
  'busy',
  'unexpected',
])
const CAN_SET_UP_AGAIN: ReadonlySet<ProblemKind> = new Set(['phone_unknown', 'passkey_missing'])

/** What the operator's app may be able to do. */
const NEEDS_APP: ReadonlySet<ProblemKind> = new Set(['cannot_attest', 'app_only'])

/** What another browser may be able to do. */
const NEEDS_OTHER_BROWSER: ReadonlySet<ProblemKind> = new Set([
  'open_in_browser',
  'passkey_unsupported',
])

/** What went wrong, and the way on. */
export function drawProblem(screen: ProblemScreen, context: DrawingContext): DrawnScreen {
  const { problem, need, requestId, link } = screen
  const { messages } = context
  const body = messages[`problem.${problem}.body`]
  const reference = fillNodes(messages['problem.reference'], { id: requestId ?? '' })
  return statement(
    {
      symbol: ['mark', 'warn'],
      title: messages[`problem.${problem}.title`],
      body: [need === null ? body : messages[`need.${need}`]],
    },
    ...(need === null ? [] : [element('p', { class: 'lead' }, body)]),
    ...(NEEDS_OTHER_BROWSER.has(problem) ? [drawLink(link)] : []),
    ...(requestId === null ? [] : [element('p', { class: 'note' }, ...reference)]),
    footer(...actionsOf(screen, context)),
  )
}

function actionsOf({ problem, link, appLink }: ProblemScreen, context: DrawingContext): Node[] {
  const { messages, onChoice } = context
  const actions: Node[] = []
  const act = (text: string, choose: () => void) =>
    actions.push(button(text, choose, { plain: actions.length > 0 }))
  if (CAN_RETRY.has(problem)) act(messages['action.retry'], () => onChoice('retry'))
  if (CAN_SET_UP_AGAIN.has(problem)) act(messages['setup.again'], () => onChoice('set_up_again'))
  if (problem === 'app_required') {
    act(messages['action.decline'], () => onChoice('decline'))
    actions.push(button(messages['action.report'], () => onChoice('report'), { tone: 'stop' }))
  }
  if (NEEDS_APP.has(problem) && appLink !== null)
    actions.push(element('a', { class: 'button', href: appLink }, messages['setup.app']))
  if (NEEDS_OTHER_BROWSER.has(problem)) actions.push(copyButton(link, messages['action.copy']))
  // A user who has to return to the other page has one thing to do here.
  return actions.length > 0 ? actions : [closeButton(context)]
}

/** The page's address. A browser inside an app often shows none. */
function drawLink(link: string): HTMLElement {
  return element('p', { class: 'link', dir: 'ltr', translate: 'no' }, link)
}

/** Copies a link, also where a browser inside an app has no Clipboard API. */
function copyButton(link: string, text: string): HTMLButtonElement {
  const copy = button(text, () => {
    const shown = copy.closest('article')?.querySelector('.link')
    const isCopied = shown instanceof HTMLElement && copySelected(shown)
    if (isCopied) copy.textContent = `✓ ${text}`
    else
      navigator.clipboard?.writeText(link).then(
        () => (copy.textContent = `✓ ${text}`),
        // The user can still copy the selected link.
        () => {},
      )
  })
  return copy
}

function copySelected(shown: HTMLElement): boolean {
  getSelection()?.selectAllChildren(shown)
  return document.execCommand('copy')
}
