import { bare, directionOf } from '@bonded/contract'
import type { Fit } from '../container/fit.ts'
import { timeLeft } from '../countdown.ts'
import type { Checks } from '../loading/load-checks.ts'
import type { LoadedMessages } from '../messages/load.ts'
import { en } from '../messages/messages.ts'
import { plain, type Screen, type ScreenName } from '../screen.ts'
import { actionButtons, type Handlers } from './actions.ts'
import type { Look } from './appearance.ts'
import { badge, toneOf } from './badge.ts'
import { element } from './dom.ts'
import { helpPanel } from './help.ts'
import type { Tenant } from '../session/snapshot.ts'
import { type Pair, pairRows } from './pairs.ts'
import { qrCode } from './qr.ts'
import { sharedStyles } from './sheet.ts'

/** The widget on the page. */
export interface View {
  /**
   * Draws a screen and changes only what differs: a rotating QR code is not announced, and a
   * focused link stays focused.
   */
  readonly show: (screen: Screen) => void
  /** Writes the texts in a language. On an empty card it also shows the first screen. */
  readonly speak: (language: LoadedMessages) => void
  /** Shows who asks, from the first call on. */
  readonly identify: (tenant: Tenant) => void
  /** Shows what the page says is being approved, to compare with the phone. */
  readonly compare: (pairs: readonly Pair[]) => void
  /** Moves the focus to the widget: the user's work continues there. */
  readonly focus: () => void
  /** Shows the card, and fits it into its box from now on: all that it needs has been loaded. */
  readonly equip: (loaded: Pick<Checks, 'fitIn' | 'encodeQr'>) => void
  /** Whether the reserved box is too small for the widget. */
  readonly isCut: () => boolean
  /** What the page could hide: all that is drawn, and the QR code or the service's frame. */
  readonly card: HTMLElement
  readonly centerpiece: () => Element | null
  /** Hides the modules of the QR code and the frame, or shows them again. */
  readonly markBreached: (isBreached: boolean) => void
}

/** The screens between which nothing moves. */
const BUSY: readonly ScreenName[] = ['waiting', 'scanned', 'evaluating', 'step_up']

/** Draws in the container's shadow root; undefined when the container cannot have one. */
export function openView(
  container: HTMLElement,
  { look, handlers }: { readonly look: Look; readonly handlers: Handlers },
): View | undefined {
  try {
    const root = container.shadowRoot ?? container.attachShadow(bare({ mode: 'open' }))
    root.adoptedStyleSheets = [sharedStyles()]
    const { card, tools, ...view } = drawCard(handlers)
    for (const [name, value] of look) card.style.setProperty(`--${name}`, value)
    root.replaceChildren(card)
    return {
      ...view,
      card,
      isCut: () => tools.isCut(),
      focus() {
        // The scrolling of focus() would show the small card of the start, and stop the page's.
        card.focus({ preventScroll: true })
        container.scrollIntoView({ block: 'nearest' })
      },
      equip: ({ fitIn, encodeQr }) =>
        void Object.assign(tools, fitIn(container, card), { encodeQr }),
    }
  } catch (cause) {
    console.error('Pulse: the container cannot carry the widget. Use a plain <div>.', cause)
    return undefined
  }
}

// oxlint-disable-next-line max-lines-per-function -- the elements of one card, and their updates
function drawCard(handlers: Handlers) {
  // A phone cannot scan its own screen, so the link comes first there.
  const touch = matchMedia('(pointer: coarse)').matches
  let messages = en
  // `equip` replaces both and adds the encoder, before the first QR code is drawn.
  const tools = { fit() {}, isCut: () => false } as Fit & Pick<Checks, 'encodeQr'>
  const text = (tag: 'h2' | 'p', look: string) => element(tag, { class: look })
  const link = (look: string) =>
    element('a', { class: look, target: '_blank', rel: 'noopener noreferrer' })

  const brand = element('div', { class: 'brand', translate: 'no' })
  const title = text('h2', 'title')
  const body = text('p', 'body')
  // Empty when it enters the page, so that screen readers announce only changes of the screen.
  const message = element('div', { class: 'message', role: 'status' }, title, body)
  // The texts of the other screens, invisible, so that no text moves what is below it.
  const rest = element('div', { class: 'rest', 'aria-hidden': 'true' })
  const room = element('div', { class: 'room' }, message, rest)
  const handoff = link('button')
  const or = text('p', 'or')
  const touchFirst = element('div', { class: 'touch' }, handoff, or)
  const compare = text('p', '')
  const pairs = element('dl', { class: 'pairs', translate: 'no' })
  const same = element('div', { class: 'same' }, compare, pairs)
  const qr = qrCode('')
  const stage = element('div', { class: 'stage' })
  const [timeLong, timeShort] = [element('span'), element('span', { class: 'short' })]
  const timer = element('span', { role: 'timer' }, timeLong, timeShort)
  const helpLink = element('button', { class: 'link help-link' })
  const help = helpPanel()
  const { cancel, retry, ...actions } = actionButtons(handlers)
  const foot = element('div', { class: 'foot' }, cancel, helpLink, timer)
  const side = element('div', { class: 'side' }, brand, room, touchFirst, same, retry, foot)
  // Replaces everything else while there is nothing to show, and where nothing fits.
  const note = element('p', { class: 'note', 'aria-hidden': 'true' })
  const lack = element('p', { class: 'lack' })
  const over = element('div', { class: 'over', role: 'status' }, badge('starting'), note, lack)
  const card = element('section', { class: 'card', tabindex: '-1' }, side, stage, over, help.node)
  brand.hidden = true
  helpLink.addEventListener('click', help.open)

  let shown: Screen | undefined
  const textOf = (name: Screen['name']) => {
    const { unavailable, expired, [name as ScreenName]: text } = messages.screens
    if (name === 'elsewhere') return { ...unavailable, body: expired.body }
    return touch && name === 'waiting' ? { ...text, body: messages.touchBody } : text
  }
  const write = ({ name, text = textOf(name), stage: given, code, hasContact }: Screen) => {
    const { renewing, reconnecting } = messages
    card.dataset['screen'] = name
    card.dataset['tone'] = toneOf(name)
    title.textContent = hasContact ? text.title : reconnecting
    const node = code ? qr.node : given
    // Without contact there is no code to scan.
    body.textContent = hasContact || node ? text.body : ''
    // A frame that is inserted again loads again.
    if (node?.parentNode === stage) return
    stage.replaceChildren(node ?? badge(name))
    if (!node && name === 'waiting') stage.append(element('p', { class: 'note' }, renewing))
  }
  const hideRest = (screen: Screen) => {
    const { name, code } = screen
    actions.update(screen, messages)
    // What belongs to a QR code keeps its place without one, so that the rest does not move.
    card.toggleAttribute('data-code', code !== null)
    touchFirst.hidden = !touch || cancel.hidden
    foot.hidden = cancel.hidden
    same.hidden = !pairs.firstChild || toneOf(name) !== 'busy'
  }
  const keepFocus = (change: () => void) => {
    const root = card.getRootNode() as ShadowRoot
    const focused = root.activeElement as HTMLElement | null
    change()
    // A focused link that has gone would leave the focus to the start of the page, and a button
    // that was drawn again has lost it.
    ;(focused?.getClientRects().length === 0 ? card : focused)?.focus()
  }

  const show = (screen: Screen) => {
    const { name, text, code, expiresAt, hasContact } = screen
    help.setLink(code && code.link)
    if (code) {
      qr.draw(code.payload, tools.encodeQr)
      if (handoff.getAttribute('href') !== code.link) handoff.href = code.link
    }
    const time = expiresAt === null ? '' : timeLeft({ until: expiresAt, now: performance.now() })
    timeShort.textContent = time
    timeLong.textContent = time && messages.timeLeft.replace('{time}', time)
    const isSame =
      name === shown?.name &&
      text === shown.text &&
      !code === !shown.code &&
      hasContact === shown.hasContact
    shown = screen
    if (isSame) return
    keepFocus(() => {
      write(screen)
      hideRest(screen)
    })
    tools.fit()
  }
  const translate = (language: LoadedMessages) => {
    messages = language.messages
    card.lang = language.tag
    card.dir = directionOf(language.tag)
    card.setAttribute('aria-label', messages.label)
    qr.node.setAttribute('aria-label', messages.codeLabel)
    handoff.textContent = messages.handoff
    or.textContent = messages.otherPhone
    helpLink.textContent = messages.help
    compare.textContent = messages.same
    note.textContent = messages.screens.starting.title
    lack.textContent = messages.screens.no_room.body
    const { reconnecting } = messages
    rest.replaceChildren(
      ...BUSY.map(textOf).flatMap((text) =>
        [text.title, reconnecting].map((first) =>
          element('i', { 'data-title': first, 'data-body': text.body }),
        ),
      ),
    )
    help.write(messages)
  }
  const speak = (language: LoadedMessages) => {
    translate(language)
    if (!shown) return show(plain('starting'))
    write(shown)
    hideRest(shown)
    tools.fit()
  }
  // A language that loads slowly finds the widget in English.
  translate({ tag: 'en', messages })

  return {
    card,
    centerpiece: () => stage.querySelector('.qr,iframe'),
    markBreached: (isBreached: boolean) => card.setAttribute('data-breached', String(isBreached)),
    tools,
    show,
    speak,
    identify({ name, logo }: Tenant) {
      if (!brand.hidden) return
      const image = element('img', { class: 'logo', alt: '', ...(logo ? { src: logo } : {}) })
      image.addEventListener('load', () => (image.dataset['loaded'] = ''))
      image.addEventListener('error', () => image.remove())
      brand.replaceChildren(...(logo ? [image] : []), element('bdi', {}, name))
      brand.hidden = false
      tools.fit()
    },
    compare(given: readonly Pair[]) {
      pairs.replaceChildren(...pairRows(given))
      if (shown) hideRest(shown)
      tools.fit()
    },
  }
}
