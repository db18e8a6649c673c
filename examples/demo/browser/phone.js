// @ts-check
import { byId, call, follow } from './live.js'

/** @typedef {{ session_id: string, createdAtMs: number, kind?: 'enroll' | 'inbox' }} Code */
/** @typedef {{ scenario: string, ignoredUntilMs: number }} Memory */

/** What the tab remembers of its phone, so that a reloaded page of a scenario continues with it. */
const MEMORY = 'demo-phone'
const main = byId('phone')
const { service = '' } = main.dataset
const scenario = new URLSearchParams(location.search).get('scenario') ?? 'normal'
/** The agent shows no QR code: the bank's app or a notification leads to the page. */
const isAgent = scenario.startsWith('agent')

let motion = 'carried'
/** @type {Code | null} */
let code = null
/** @type {string | undefined} */
let scanned
/** A QR code of an earlier scenario stays in the past, although its session is still open. */
let ignoredUntilMs = Number.POSITIVE_INFINITY
let isServiceRunning = true
let isConnected = true
/** The phone opens what it has scanned as soon as the service runs. */
let isWaiting = false
/**
 * The phone page that the phone has opened.
 * @type {HTMLIFrameElement | undefined}
 */
let page

const OFFERS = {
  code: ['A QR code is on the page', 'Scan it as you would with your camera.', 'Scan the QR code'],
  enroll: [
    'Your bank’s app opens a request',
    'Approve once, so that the bank knows this phone.',
    'Enroll this phone',
  ],
  inbox: [
    'A request is waiting',
    'A notification says no more: there is nothing to decide on yet.',
    'Open the inbox',
  ],
}
const IDLE = {
  code: [
    'Ready to scan',
    'Choose Continue to approval on the page. This phone then sees its QR code.',
  ],
  agent: ['Nothing is waiting', 'Choose Run the agent. Its request then reaches this phone.'],
}

document.querySelector('#camera svg')?.toggleAttribute('hidden', isAgent)
void reset()
// Another tab may have chosen another scenario.
document.addEventListener(
  'visibilitychange',
  () => document.visibilityState === 'visible' && void call('/scenario', { name: scenario }),
)
follow((snapshot) => {
  isConnected = snapshot !== undefined
  code = (isAgent ? snapshot?.agent.offer : snapshot?.code) ?? null
  isServiceRunning = snapshot?.isServiceRunning !== false
  if (isWaiting && isServiceRunning) void scan()
  draw()
})
byId('scan').addEventListener('click', () => void scan())
byId('start').addEventListener('click', () => void call('/service/start'))
byId('pick-up').addEventListener('click', () => {
  motion = 'carried'
  page?.contentWindow?.postMessage('picked_up', service)
  draw()
})
addEventListener('message', ({ source, origin, data }) => {
  if (source === page?.contentWindow && origin === service && data === 'closed') close()
})

/** A new scenario begins with a phone that shows nothing. */
async function reset() {
  const chosen = await call('/scenario', { name: scenario })
  if (chosen === undefined) return
  motion = chosen.motion
  /** @type {Memory | null} */
  const known = JSON.parse(sessionStorage.getItem(MEMORY) ?? 'null')
  const isSame = known?.scenario === scenario
  ignoredUntilMs = isSame ? known.ignoredUntilMs : (chosen.code?.createdAtMs ?? 0)
  sessionStorage.setItem(MEMORY, JSON.stringify({ scenario, ignoredUntilMs }))
  draw()
}

/** Opens what the phone sees, as its camera or a notification does. */
async function scan() {
  isWaiting = !isServiceRunning
  if (isWaiting) return draw()
  const seen = await call(isAgent ? '/agent/open' : '/phone/scan')
  if (seen === undefined) return
  scanned = seen.session_id
  page?.remove()
  page = document.createElement('iframe')
  page.title = 'Phone page'
  page.src = `${seen.link}#${motion}`
  main.append(page)
  page.focus()
  draw()
  // On a small screen, the phone is the next step. The message contains no secret.
  parent.postMessage('scanned', '*')
}

function close() {
  page?.remove()
  page = undefined
  draw()
  byId('camera').focus()
}

function draw() {
  const isSeen = code !== null && code.createdAtMs > ignoredUntilMs && code.session_id !== scanned
  const [title = '', text = '', action = ''] = textsOf(isSeen)
  const heading = byId('title')
  if (heading.textContent !== title) {
    heading.textContent = title
    byId('text').textContent = text
  }
  main.dataset.screen = isConnected ? (isSeen ? 'code' : 'idle') : 'offline'
  byId('scan').hidden = !isSeen || isWaiting
  byId('scan').textContent = action
  byId('camera').hidden = page !== undefined && !isSeen && !isWaiting
  byId('camera').classList.toggle('above', page !== undefined)
  byId('outage').hidden = isServiceRunning
  byId('outage-text').textContent = isServiceRunning ? '' : 'The service is stopped.'
  byId('pick-up').hidden = motion !== 'resting'
  byId('place').textContent = motion === 'resting' ? 'Lies on a table' : 'Held in a hand'
}

/** @param {boolean} isSeen */
function textsOf(isSeen) {
  if (!isConnected) return ['The sandbox is not running', 'Start it again with npm start.']
  if (isWaiting) return ['No connection', 'The service does not answer. Nothing was approved.']
  return isSeen ? OFFERS[code?.kind ?? 'code'] : isAgent ? IDLE.agent : IDLE.code
}
