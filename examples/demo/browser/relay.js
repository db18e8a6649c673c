// @ts-check
import { byId, call, element, follow } from './live.js'

/**
 * @typedef {{ stage: string, qrVersion: number,
 *   attempts: { what: string, isStopped: boolean, result: string }[] }} Relay
 */

const form = /** @type {HTMLFormElement} */ (byId('application-form'))
const button = /** @type {HTMLButtonElement} */ (byId('continue'))
const copied = byId('copied')
const picture = /** @type {HTMLImageElement} */ (byId('qr'))
let isReady = false
/** The QR code is shown after the widget has rejected this page. */
let isCopying = false

form.addEventListener('submit', (event) => {
  event.preventDefault()
  void relay()
})
follow((snapshot) => snapshot && draw(snapshot.relay))

/** The attacker applies at the bank, tries the bank's widget, and then copies the QR code. */
async function relay() {
  button.disabled = true
  isCopying = false
  copied.hidden = true
  byId('result').hidden = true
  byId('bond-container').hidden = false
  say('The attacker applies at the real bank…')
  const started = await call('/relay/start', { name: new FormData(form).get('name') })
  button.disabled = false
  if (started === undefined) return say('The bank did not answer the attacker. Try again.')
  say('The attacker shows the bank’s widget on this page…')
  const reason = await rejectionOfWidget(started.session)
  await call('/relay/refused', { reason })
  byId('bond-container').hidden = true
  isCopying = true
  copied.hidden = false
  say(
    'The service refused the widget here, so the attacker copies the picture of the QR code. Scan it, and compare the amount.',
  )
}

/**
 * @param {object} session
 * @returns {Promise<string>} why the widget did not draw a QR code
 */
async function rejectionOfWidget(session) {
  const { Pulse } = /** @type {any} */ (globalThis)
  if (!Pulse) return 'sdk_not_loaded'
  const { publishableKey, workflow, action } = form.dataset
  if (!isReady) Pulse.init({ publishableKey, workflow, containerId: 'bond-container' })
  isReady = true
  const { state, reason } = await Pulse.requireBond({ session, action })
  return reason ?? state
}

/** @param {Relay} relay */
function draw({ stage, qrVersion, attempts }) {
  const src = `/relay/qr.svg?version=${qrVersion}`
  if (stage !== 'waiting') copied.hidden = true
  else if (picture.getAttribute('src') !== src) picture.src = src
  const list = byId('attempts')
  list.hidden = attempts.length === 0
  list.replaceChildren(
    ...attempts.map(({ what, isStopped, result }) => {
      const row = element('li', {}, element('strong', { text: `${what}: ` }), new Text(result))
      row.dataset.stopped = String(isStopped)
      return row
    }),
  )
  if (stage === 'over' && isCopying) showEnd(attempts.at(-1)?.isStopped === true)
}

/** @param {boolean} isStopped */
function showEnd(isStopped) {
  isCopying = false
  say('Choose Continue to approval to try again.')
  byId('result-title').textContent = isStopped ? 'The attack was stopped' : 'The attack succeeded'
  byId('result-text').textContent = isStopped
    ? 'The phone did not approve, so the bank’s gate refused the attacker’s application.'
    : 'The phone approved €50,000, and the attacker sent exactly that. Only the comparison on the phone could have stopped it.'
  const result = byId('result')
  result.dataset.outcome = isStopped ? 'accepted' : 'refused'
  result.hidden = false
  result.focus()
}

/** @param {string} text */
function say(text) {
  byId('status').textContent = text
}
