import { type WayOn, WAYS_ON } from '../failures.ts'
import type { Choice, ProblemScreen } from '../screen.ts'
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
    ...(WAYS_ON[problem]?.includes('link') ? [drawLink(link)] : []),
    ...(requestId === null ? [] : [element('p', { class: 'note' }, ...reference)]),
    footer(...actionsOf(screen, context)),
  )
}

function actionsOf({ problem, link, appLink }: ProblemScreen, context: DrawingContext): Node[] {
  const { messages, onChoice } = context
  const actions: Node[] = []
  const look = () => ({ plain: actions.length > 0 })
  const act = (text: string, choice: Choice) =>
    actions.push(button(text, () => onChoice(choice), look()))
  const draw: Readonly<Record<WayOn, () => void>> = {
    retry: () => act(messages['action.retry'], 'retry'),
    set_up_again: () => act(messages['setup.again'], 'set_up_again'),
    decline() {
      act(messages['action.decline'], 'decline')
      actions.push(button(messages['action.report'], () => onChoice('report'), { tone: 'stop' }))
    },
    app() {
      if (appLink !== null)
        actions.push(element('a', { class: 'button', href: appLink }, messages['setup.app']))
    },
    link: () => actions.push(copyButton(link, messages['action.copy'], look())),
  }
  WAYS_ON[problem]?.forEach((way) => draw[way]())
  // A user who has to return to the other page has one thing to do here.
  return actions.length > 0 ? actions : [closeButton(context)]
}

/** The page's address. A browser inside an app often shows none. */
export function drawLink(link: string): HTMLElement {
  return element('p', { class: 'link', dir: 'ltr', translate: 'no' }, link)
}

/** Copies a link, also where a browser inside an app has no Clipboard API. */
export function copyButton(
  link: string,
  text: string,
  look: { readonly plain: boolean },
): HTMLButtonElement {
  const act = () => {
    const shown = copy.closest('article')?.querySelector('.link')
    const isCopied = shown instanceof HTMLElement && copySelected(shown)
    if (isCopied) copy.textContent = `✓ ${text}`
    else
      navigator.clipboard?.writeText(link).then(
        () => (copy.textContent = `✓ ${text}`),
        // The user can still copy the selected link.
        () => {},
      )
  }
  const copy = button(text, act, look)
  return copy
}

function copySelected(shown: HTMLElement): boolean {
  getSelection()?.selectAllChildren(shown)
  return document.execCommand('copy')
}
