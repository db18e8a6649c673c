import type { ShownRequest } from '@bonded/phone'
import type { Messages } from '../messages.ts'
import type { MotionAccess } from '../motion.ts'
import type { Choice, Screen } from '../screen.ts'
import { element } from './dom.ts'
import { icon, type IconName, type Tone } from './icon.ts'
import { qrCode } from './qr.ts'
import { drawRequest } from './draw-request.ts'
import { drawStepUp } from './draw-step-up.ts'

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
}

export interface DrawingContext {
  readonly messages: Messages
  readonly onChoice: (choice: Choice) => void
  readonly motionAccess: () => MotionAccess
}

export function drawScreen(screen: Screen, context: DrawingContext): DrawnScreen {
  const { messages, onChoice } = context
  switch (screen.name) {
    case 'loading':
      return {
        title: messages.pageTitle,
        content: [icon('spinner', 'busy'), element('h1', { class: 'unseen' }, messages.pageTitle)],
      }
    case 'desktop':
      return statement(
        { symbol: ['phone', 'busy'], ...messages.desktop },
        qrCode(screen.link, messages.desktop.codeLabel),
      )
    case 'setup': {
      const { points, action, openApp } = messages.setup
      const list = element('ul', {}, ...points.map((point) => element('li', {}, point)))
      const actions: Node[] = [button(action, () => onChoice('set_up'))]
      if (screen.appLink !== null)
        actions.push(element('a', { class: 'button plain', href: screen.appLink }, openApp))
      return statement({ symbol: ['phone', 'busy'], ...messages.setup }, list, footer(...actions))
    }
    case 'request':
      return drawRequest(screen, context)
    case 'step_up':
      return drawStepUp(screen, context)
    case 'working': {
      const text = messages.tasks[screen.task]
      const heading = headingOf(text)
      return {
        title: text,
        heading,
        content: [icon('spinner', 'busy'), heading, ...summaryOf(screen.request)],
      }
    }
    case 'approved':
    case 'completed': {
      const { title, body } = messages[screen.name]
      const text = { title, body: body(screen.request.tenant_name) }
      return statement({ symbol: ['check', 'good'], ...text }, ...summaryOf(screen.request))
    }
    case 'ended': {
      const { title, body } = messages.ends[screen.end]
      return statement({ symbol: SYMBOL_OF_END[screen.end], title, body: body(screen.tenant) })
    }
    case 'problem': {
      const text = messages.problems[screen.problem]
      const actions: Node[] = []
      if (CAN_RETRY.has(screen.problem))
        actions.push(button(messages.retry, () => onChoice('retry')))
      if (CAN_SET_UP_AGAIN.has(screen.problem))
        actions.push(
          button(messages.setUpAgain, () => onChoice('set_up_again'), {
            plain: actions.length > 0,
          }),
        )
      const reference =
        screen.requestId === null
          ? []
          : [element('p', { class: 'note' }, messages.reference(screen.requestId))]
      return statement({ symbol: ['mark', 'warn'], ...text }, ...reference, footer(...actions))
    }
  }
}

const SYMBOL_OF_END: Readonly<Record<string, [IconName, Tone]>> = {
  declined: ['cross', 'calm'],
  reported: ['shield', 'stop'],
  expired: ['clock', 'calm'],
  canceled: ['cross', 'calm'],
  not_verified: ['mark', 'warn'],
}
const CAN_RETRY: ReadonlySet<string> = new Set(['passkey_missing', 'offline', 'busy', 'unexpected'])
const CAN_SET_UP_AGAIN: ReadonlySet<string> = new Set(['phone_unknown', 'passkey_missing'])

/** A screen that says one thing. */
function statement(
  {
    symbol: [name, tone] = ['mark', 'warn'],
    title,
    body,
  }: { symbol: [IconName, Tone] | undefined; title: string; body: string },
  ...more: readonly Node[]
): DrawnScreen {
  const heading = headingOf(title)
  return {
    title,
    heading,
    content: [icon(name, tone), heading, element('p', { class: 'lead' }, body), ...more],
  }
}

export function headingOf(text: string): HTMLElement {
  return element('h1', { tabindex: '-1' }, text)
}

export function button(
  text: string,
  onClick: () => void,
  { plain = false, tone }: { plain?: boolean; tone?: 'stop' } = {},
): HTMLButtonElement {
  const look = ['button', plain ? 'plain' : '', tone ?? ''].filter(Boolean).join(' ')
  const made = element('button', { type: 'button', class: look }, text)
  made.addEventListener('click', onClick)
  return made
}

export function footer(...actions: Node[]): HTMLElement {
  return element('div', { class: 'actions' }, ...actions)
}

/** The request in short, so that the user still sees what the page is working on. */
export function summaryOf(request: ShownRequest | null): Node[] {
  if (request === null || request.display.length === 0) return []
  return [pairs(request.display)]
}

export function pairs(rows: readonly { label: string; value: string }[]): HTMLElement {
  return element(
    'dl',
    {},
    ...rows.map(({ label, value }) =>
      element(
        'div',
        {},
        element('dt', { dir: 'auto' }, label),
        element('dd', { dir: 'auto' }, value),
      ),
    ),
  )
}
