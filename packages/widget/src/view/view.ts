import { bare } from '@bonded/contract'
import { timeLeft } from '../countdown.ts'
import { en, fill, type Messages } from '../messages/messages.ts'
import type { Screen, ScreenName } from '../screen.ts'
import { badge, toneOf } from './badge.ts'
import { element } from './dom.ts'
import { qrCode } from './qr.ts'
import { sheet } from './sheet.ts'

/** The widget on the page. */
export interface View {
  /**
   * Draws a screen and changes only what differs: a rotating QR code is not announced, and a
   * focused link stays focused.
   */
  readonly show: (screen: Screen) => void
}

/** Draws in the container's shadow root; undefined when the container cannot have one. */
export function openView(container: HTMLElement, messages: Messages = en): View | undefined {
  try {
    const root = container.shadowRoot ?? container.attachShadow(bare({ mode: 'open' }))
    root.adoptedStyleSheets = [sheet()]
    const { card, show } = drawCard(messages)
    root.replaceChildren(card)
    return { show }
  } catch (cause) {
    console.error('Pulse: the container cannot carry the widget. Use a plain <div>.', cause)
    return undefined
  }
}

function drawCard(messages: Messages): { card: HTMLElement } & View {
  // A phone cannot scan its own screen, so the link comes first there.
  const touch = matchMedia('(pointer: coarse)').matches
  const title = element('p', { class: 'title' })
  const body = element('p', { class: 'body' })
  // Empty when it enters the page, so that screen readers announce only changes of the screen.
  const message = element('div', { role: 'status' }, title, body)
  const qr = qrCode(messages.codeLabel)
  const link = (text: string, look: string) =>
    element('a', { class: look, target: '_blank', rel: 'noopener noreferrer' }, text)
  const handoff = link(messages.handoff, 'button')
  const cannotScan = link(messages.cannotScan, 'link')
  const touchFirst = element('div', {}, handoff, element('p', { class: 'or' }, messages.otherPhone))
  const stage = element('div', { class: 'stage' })
  const timer = element('span', { role: 'timer' })
  const foot = element('div', { class: 'foot' }, timer, cannotScan)
  const card = element(
    'section',
    { class: 'card', 'aria-label': messages.label },
    message,
    touchFirst,
    stage,
    foot,
  )

  let shown: ScreenName | undefined
  let hadCode: boolean | undefined
  const rename = (name: ScreenName) => {
    const text = messages.screens[name]
    card.dataset['screen'] = name
    card.dataset['tone'] = toneOf(name)
    title.textContent = text.title
    body.textContent = name === 'waiting' && touch ? messages.touchBody : text.body
  }
  const fillStage = (name: ScreenName, hasCode: boolean) => {
    if (hasCode) return stage.replaceChildren(qr.node)
    stage.replaceChildren(
      badge(name),
      ...(name === 'waiting' ? [element('p', { class: 'note' }, messages.renewing)] : []),
    )
  }

  return {
    card,
    show({ name, code, expiresAt }) {
      const hasCode = code !== null
      if (code) {
        qr.draw(code.payload)
        for (const anchor of [handoff, cannotScan])
          if (anchor.getAttribute('href') !== code.link) anchor.href = code.link
      }
      if (name !== shown) rename(name)
      if (name !== shown || hasCode !== hadCode) fillStage(name, hasCode)
      shown = name
      hadCode = hasCode
      touchFirst.hidden = !(touch && hasCode)
      cannotScan.hidden = touch || !hasCode
      timer.textContent =
        expiresAt === null
          ? ''
          : fill(messages.timeLeft, {
              time: timeLeft({ until: expiresAt, now: performance.now() }),
            })
      foot.hidden = expiresAt === null
    },
  }
}
