// @ts-check
import { byId, call, element, follow } from './live.js'

/** @typedef {{ label: string, value: string, isMet: boolean }} Check */
/**
 * @typedef {{
 *   tenant: string, origin: string | null, expiresAtMs: number,
 *   pairs: { label: string, value: string }[], checks: Check[],
 * }} Received
 */
/**
 * @typedef {{
 *   screen: string, actions: string[], task?: string, request?: Received,
 *   required?: string[], attemptsLeft?: number, verdict?: Check[],
 *   rejection?: { reason: string, message: string },
 * }} View
 */

/** The heading, the sentence and the tone of each screen that has no text of its own. */
const TEXTS = {
  loading: ['Starting', 'The phone connects to the sandbox.', 'busy'],
  offline: ['The sandbox is not running', 'Start it again with npm start.', 'warn'],
  idle: [
    'Ready to scan',
    'Choose Continue to approval on the page. This phone then sees its QR code.',
    'busy',
  ],
  code: ['A QR code is on the page', 'Scan it as you would with your camera.', 'busy'],
  confirm_on_computer: [
    'Now confirm on the computer',
    'The bank’s page asks your browser for this phone’s passkey. No other page can.',
    'busy',
  ],
  passkey_used: [
    'Passkey used',
    'It signed for the bank’s page in your browser. The service verifies that now.',
    'good',
  ],
  approved: ['Approved', 'The bank is completing your request.', 'good'],
  completed: ['Your request is complete', 'The bank has stored the application.', 'good'],
  declined: ['Declined', 'Nothing was approved.', 'stop'],
  reported: [
    'Request stopped',
    'Nothing was approved. The bank sees that you did not start this.',
    'stop',
  ],
  expired: [
    'The request has expired',
    'Nothing can be approved any more. Start again on the page.',
    'warn',
  ],
  ended: [
    'The request has ended',
    'Nothing more can be approved. See the page for the result.',
    'warn',
  ],
  unreachable: ['No connection', 'The service does not answer. Nothing was approved.', 'warn'],
}
const STEP_UPS = {
  local_auth: 'Confirm with your screen lock.',
  sensor_continuity: 'Show that the phone is held, not lying still.',
  passport_chip: 'Hold your passport to the phone.',
}
const BUTTONS = {
  scan: 'Scan the QR code',
  approve: 'Approve',
  'not-me': 'This wasn’t me',
  decline: 'Decline',
  'step-up': 'Approve while locked',
  confirm: 'Confirm with fingerprint',
  retry: 'Try again',
}
const ICONS = {
  good: 'M5 13l4 4 10-10',
  stop: 'M6 6l12 12M18 6L6 18',
  warn: 'M12 6v8M12 17.5v.5',
  busy: 'M4 8V4h4M16 4h4v4M20 16v4h-4M8 20H4v-4M8 12h8',
}

const screen = byId('screen')
/** @type {string | undefined} */
let drawn
/** @type {ReturnType<typeof setInterval> | undefined} */
let ticking

/** The screen says nothing when a page opens, so that it does not interrupt the bank's page. */
let isFirst = true
follow((snapshot) => {
  draw(snapshot === undefined ? { screen: 'offline', actions: [] } : snapshot.phone)
  showOutage(snapshot?.isServiceRunning === false)
})
byId('start').addEventListener('click', () => void call('/service/start'))
useScenario()
// Another tab may have chosen another scenario.
document.addEventListener(
  'visibilitychange',
  () => document.visibilityState === 'visible' && useScenario(),
)

// The bank's page asks for the passkey, and no other page can: only that page has its origin.
addEventListener('message', ({ source, origin, data, ports: [port] }) => {
  if (source !== parent || origin !== byId('phone').dataset.bank || port === undefined) return
  void call('/phone/passkey', data).then((answer) => port.postMessage(answer))
})

function useScenario() {
  const name = new URLSearchParams(location.search).get('scenario')
  if (name !== null) void call('/scenario', { name })
}

/**
 * The button to end an outage is also here, because the activity may be out of view.
 * @param {boolean} isStopped
 */
function showOutage(isStopped) {
  const outage = byId('outage')
  if (outage.hidden === !isStopped) return
  outage.hidden = !isStopped
  const [text] = outage.children
  if (text) text.textContent = isStopped ? 'The service is stopped.' : ''
}

/** @param {View} view */
function draw(view) {
  const text = JSON.stringify(view)
  if (text === drawn) return
  drawn = text
  clearInterval(ticking)
  const hadFocus = screen.contains(document.activeElement)
  screen.dataset.screen = view.screen
  screen.replaceChildren(...contentOf(view))
  const heading = /** @type {HTMLElement} */ (screen.querySelector('h1'))
  heading.tabIndex = -1
  if (hadFocus) heading.focus({ preventScroll: true })
  if (!isFirst) byId('spoken').textContent = `Phone: ${heading.textContent}`
  isFirst = view.screen === 'offline' && isFirst
}

/**
 * @param {View} view
 * @returns {Node[]}
 */
function contentOf(view) {
  const buttons = element('div', { className: 'buttons' }, ...view.actions.map(button))
  if (view.screen === 'busy')
    return [icon('busy', 'icon turning'), element('h1', { text: view.task ?? 'One moment…' })]
  if (view.screen === 'request' && view.request) return [...request(view.request), buttons]
  if (view.screen === 'step_up') return [...stepUp(view), buttons]
  if (view.screen === 'refused' && view.rejection)
    return [
      icon('stop'),
      element('h1', { text: 'The phone stopped' }),
      element('p', { text: view.rejection.message }),
      element('p', { className: 'note', text: view.rejection.reason }),
    ]
  const [title = '', body = '', tone = 'busy'] =
    TEXTS[/** @type {keyof typeof TEXTS} */ (view.screen)] ?? TEXTS.loading
  return [
    icon(/** @type {keyof typeof ICONS} */ (tone)),
    element('h1', { text: title }),
    element('p', { className: 'lead', text: body }),
    ...(view.verdict?.length ? [checks('What the service verified', view.verdict, true)] : []),
    buttons,
  ]
}

/** @param {Received} received */
function request(received) {
  const time = element('p', { className: 'note' })
  const tick = () => {
    const seconds = Math.max(0, Math.round((received.expiresAtMs - Date.now()) / 1000))
    time.textContent = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')} left`
  }
  tick()
  ticking = setInterval(tick, 1_000)
  const pairs = element(
    'dl',
    {},
    ...received.pairs.map(({ label, value }) =>
      element('div', {}, element('dt', { text: label }), element('dd', { text: value })),
    ),
  )
  return [
    element('h1', { text: `${received.tenant} asks for your approval` }),
    pairs,
    element(
      'div',
      { className: 'origin' },
      element('p', { className: 'note', text: 'Page, as reported by its browser' }),
      element('p', { className: 'value', text: received.origin ?? 'Not known' }),
    ),
    element('p', {
      className: 'lead',
      text: 'Approve only if you started this, just now, on that page.',
    }),
    time,
    checks('What this phone checked', received.checks),
  ]
}

/** @param {View} view */
function stepUp({ required = [], attemptsLeft }) {
  const left = attemptsLeft === 1 ? 'Last attempt' : `${attemptsLeft} attempts left`
  return [
    icon('warn'),
    element('h1', { text: 'Confirm once more' }),
    element('p', { className: 'lead', text: 'The bank’s policy requires more proof.' }),
    element(
      'ul',
      {},
      ...required.map((kind) =>
        element('li', { text: STEP_UPS[/** @type {keyof typeof STEP_UPS} */ (kind)] ?? kind }),
      ),
    ),
    ...(attemptsLeft === undefined ? [] : [element('p', { className: 'note', text: left })]),
  ]
}

/**
 * @param {string} title
 * @param {Check[]} list
 * @param {boolean} [isOpen]
 */
function checks(title, list, isOpen = false) {
  const rows = list.map(({ label, value, isMet }) => {
    const row = element(
      'li',
      {},
      element('span', { className: 'label', text: `${label}: ` }),
      element('span', { text: value }),
    )
    row.dataset.met = String(isMet)
    return row
  })
  const made = /** @type {HTMLDetailsElement} */ (
    element(
      'details',
      { className: 'checks' },
      element('summary', { text: title }),
      element('ul', {}, ...rows),
    )
  )
  made.open = isOpen
  return made
}

/** @param {string} action */
function button(action) {
  const made = element('button', { text: BUTTONS[/** @type {keyof typeof BUTTONS} */ (action)] })
  made.dataset.action = action
  made.addEventListener('click', () => void call(`/phone/${action}`))
  return made
}

/** @param {keyof typeof ICONS} tone */
function icon(tone, className = 'icon') {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg')
  svg.setAttribute('viewBox', '0 0 24 24')
  const path = document.createElementNS('http://www.w3.org/2000/svg', 'path')
  path.setAttribute('d', ICONS[tone])
  svg.append(path)
  const made = element('div', { className }, svg)
  made.dataset.tone = tone
  made.setAttribute('aria-hidden', 'true')
  return made
}
