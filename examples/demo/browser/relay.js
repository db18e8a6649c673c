// @ts-check
import { byId, call, element, follow } from './live.js'

/** @typedef {{ what: string, isStopped: boolean, result: string }} Attempt */
/**
 * @typedef {{ stage: string, protection: 'phone' | 'browser', qrVersion: number,
 *   attempts: Record<'phone' | 'browser', Attempt[]> }} Relay
 */

const form = /** @type {HTMLFormElement} */ (byId('application-form'))
const button = /** @type {HTMLButtonElement} */ (byId('continue'))
const copied = byId('copied')
const picture = /** @type {HTMLImageElement} */ (byId('qr'))
let isReady = false
/** The QR code is shown after the widget has rejected this page. */
let isCopying = false
/**
 * What the bank requires in the next run.
 * @type {'phone' | 'browser'}
 */
let protection = 'phone'
let isAsking = false
/** Whether the page has asked its browser for the passkey in this run. */
let hasAsked = false

form.addEventListener('submit', (event) => {
  event.preventDefault()
  void relay()
})
follow((snapshot) => snapshot && draw(snapshot.relay))
addEventListener('message', ({ source }) => {
  /** @type {HTMLIFrameElement | null} */
  const phone = document.querySelector('.demo-phone iframe')
  if (phone !== null && source === phone.contentWindow)
    phone.scrollIntoView({ block: 'nearest', behavior: 'instant' })
})

/** The attacker applies at the bank, tries the bank's widget, and then copies the QR code. */
async function relay() {
  button.disabled = true
  isCopying = false
  hasAsked = false
  copied.hidden = true
  byId('honest-title').after(byId('runs'))
  byId('result').hidden = true
  byId('bond-container').hidden = false
  say('The attacker applies at the real bank…')
  const started = await call('/relay/start', {
    name: new FormData(form).get('name'),
    protection,
  })
  button.disabled = false
  if (started === undefined) return say('The bank did not answer the attacker. Try again.')
  // The bank's widget is tried once. Its answer does not depend on what the bank requires.
  if (protection === 'phone') {
    say('The attacker shows the bank’s widget on this page…')
    await call('/relay/refused', { reason: await rejectionOfWidget(started.session) })
  } else await call('/relay/copy', {})
  byId('bond-container').hidden = true
  isCopying = true
  copied.hidden = false
  say(
    'The attacker copies the picture of the QR code from its own request. Scan it, and compare the amount.',
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

/**
 * Asks this browser for a passkey of the bank’s service, as a relaying page would have to.
 */
async function askForPasskey() {
  if (isAsking) return
  isAsking = true
  hasAsked = true
  say('The phone approved. Now the attacker needs the passkey, and asks your browser for it…')
  const reason = await navigator.credentials
    .get({
      publicKey: {
        challenge: crypto.getRandomValues(new Uint8Array(32)),
        rpId: form.dataset.rpId ?? '',
        userVerification: 'required',
        timeout: 5_000,
      },
    })
    .then(
      () => 'answered',
      (/** @type {Error} */ failure) => failure.name,
    )
  await call('/relay/asked', { reason })
  isAsking = false
}

/** @param {Relay} relay */
function draw({ stage, protection: running, qrVersion, attempts }) {
  const src = `/relay/qr.svg?version=${qrVersion}`
  if (stage === 'asking') void askForPasskey()
  if (stage !== 'waiting' || isAsking) copied.hidden = true
  else if (picture.getAttribute('src') !== src) picture.src = src
  byId('runs').hidden = attempts.phone.length + attempts.browser.length === 0
  drawAttempts('attempts-phone', attempts.phone)
  drawAttempts('attempts-browser', attempts.browser)
  byId('next-run').hidden = attempts.browser.length > 0
  if (stage === 'over' && isCopying) showEnd(running, attempts[running].at(-1)?.isStopped === true)
}

/**
 * @param {string} id
 * @param {Attempt[]} attempts
 */
function drawAttempts(id, attempts) {
  byId(id).replaceChildren(
    ...attempts.map(({ what, isStopped, result }) => {
      const row = element('li', {}, element('strong', { text: `${what}: ` }), new Text(result))
      row.dataset.stopped = String(isStopped)
      return row
    }),
  )
}

const ENDS = {
  approved:
    'The phone approved €50,000, and the attacker sent exactly that. Only the comparison on the phone could have stopped it.',
  declined: 'The phone did not approve, so the bank’s gate refused the attacker’s application.',
  unconfirmed:
    'The phone approved €50,000, and still nothing was accepted: the attacker has no browser that can confirm.',
}

/**
 * @param {'phone' | 'browser'} running
 * @param {boolean} isStopped
 */
function showEnd(running, isStopped) {
  isCopying = false
  protection = running === 'phone' ? 'browser' : 'phone'
  button.textContent =
    protection === 'browser' ? 'Attack the bonded browser' : 'Continue to approval'
  say(
    `Choose ${button.textContent} to ${protection === 'browser' ? 'run it again' : 'start over'}.`,
  )
  byId('result-title').textContent = isStopped ? 'The attack was stopped' : 'The attack succeeded'
  const stopped = running === 'browser' && hasAsked ? ENDS.unconfirmed : ENDS.declined
  byId('result-text').textContent = isStopped ? stopped : ENDS.approved
  const result = byId('result')
  result.append(byId('runs'))
  result.dataset.outcome = isStopped ? 'accepted' : 'refused'
  result.hidden = false
  result.focus()
}

/** @param {string} text */
function say(text) {
  byId('status').textContent = text
}
