import { isAmount } from '@bonded/contract'
import type { ShownRequest } from '@bonded/phone'
import type { Messages } from '../messages/en.ts'
import type { MotionRecorder } from '../motion.ts'
import type { Choice, Removal, Screen } from '../screen.ts'
import type { TapGuard } from '../tap-guard.ts'
import { element } from './dom.ts'
import { icon, type IconName, type Tone } from './icon.ts'
import type { ReadRequests } from './read-to-end.ts'
import { grouped } from './value.ts'
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
  /** How a request says the time that is left. Default: minutes and seconds. */
  readonly timeLeft?: (ms: number) => string
  /** How many people must approve this request, where several are asked. */
  readonly rule?: readonly (Node | string)[] | undefined
  /** Whether the requests come from no page, and the user returns to a list of them. */
  readonly isInbox?: boolean
}

/** Closes the page. Some browsers do not permit it; the user then closes the tab. */
export function closeButton({ messages, onChoice }: DrawingContext): HTMLButtonElement {
  const close = button(messages['action.close'], () => {
    onChoice('close')
    close.hidden = true
  })
  return close
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
 * leave. The first amount of money is the largest text of the list. A translator of the browser
 * must change none of them: the user approves these characters.
 */
export function pairs(rows: readonly { label: string; value: string }[]): HTMLElement {
  const amount = rows.findIndex(({ value }) => isAmount(value))
  return element(
    'dl',
    { class: 'pairs', translate: 'no' },
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
