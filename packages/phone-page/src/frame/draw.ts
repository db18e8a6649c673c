import type { BrowserFrame } from '@bonded/contract'
import { element } from '../view/dom.ts'
import { fillNodes } from '../view/fill.ts'
import { verbatim } from '../view/verbatim.ts'
import type { FrameScreen } from './confirm.ts'
import type { Words } from './messages.ts'

/** What the drawn frame needs besides the screen. */
export interface Look {
  readonly words: Words
  /** The languages for titles, the most wanted first. */
  readonly languages: readonly string[]
  readonly titleOf: (request: BrowserFrame, languages: readonly string[]) => string
  readonly onConfirm: () => void
  readonly onReopen: () => void
}

/** Draws a screen. Text is inserted as text nodes only. */
export function drawFrame(root: HTMLElement, screen: FrameScreen, look: Look): void {
  const hadFocus = root.contains(document.activeElement)
  const article = element('article', { 'data-screen': screen.name }, ...parts(screen, look))
  root.replaceChildren(article)
  if (!hadFocus) return
  const next = article.querySelector('button') ?? article.querySelector('h1')
  next?.focus()
}

function parts(screen: FrameScreen, look: Look): Node[] {
  const { words } = look
  switch (screen.name) {
    case 'confirm':
      return [
        ...heading(screen.request, look),
        button(words.confirm, look.onConfirm),
        element('p', { role: 'status' }, screen.note ? words[screen.note] : words.hint),
      ]
    case 'confirming': {
      const waiting = button(words.confirm, () => {})
      waiting.setAttribute('aria-disabled', 'true')
      return [
        ...heading(screen.request, look),
        waiting,
        element('p', { role: 'status' }, words.confirming),
      ]
    }
    case 'opening':
      return [title(words.title)]
    case 'offline':
      return [
        title(words.title),
        button(words.confirm, look.onReopen),
        element('p', { role: 'status' }, words.offline),
      ]
    case 'done':
    case 'ended':
    case 'unsupported':
    case 'misplaced':
      return [title(element('span', { role: 'status' }, words[screen.name]))]
  }
}

function heading(request: BrowserFrame, { words, languages, titleOf }: Look): Node[] {
  const action = titleOf(request, languages)
  const values = { tenant: request.tenant_name, action }
  const { amount = null } = request
  return [
    title(words.title),
    element(
      'p',
      { class: 'request' },
      ...fillNodes(words.request, values).flatMap(visible),
      ...(amount === null
        ? []
        : [' ', element('strong', { dir: 'auto', translate: 'no' }, ...verbatim(amount))]),
    ),
  ]
}

function title(text: Node | string): HTMLElement {
  return element('h1', { tabindex: '-1' }, text)
}

/** Blanks in a name or a title are drawn, so that neither can imitate the other. */
function visible(node: Node | string): (Node | string)[] {
  if (typeof node === 'string') return [node]
  return [element('bdi', { translate: 'no' }, ...verbatim(node.textContent ?? ''))]
}

function button(text: string, act: () => void): HTMLElement {
  const drawn = element('button', { type: 'button' }, text)
  drawn.addEventListener('click', act)
  return drawn
}
