// @ts-check
import { byId, call, element, follow } from './live.js'

/** @typedef {{ by: string, text: string, call?: string, tone?: string }} Line */
/**
 * @typedef {{ title: string, text: string,
 *   receipt?: { rows: [string, string][], text: string } }} Outcome
 */
/**
 * @typedef {{ run: string, lines: Line[], offer: { session_id: string } | null,
 *   outcome: Outcome | null, isOver: boolean, subject: string | null }} View
 */

/** The run of this tab and scenario, so that a reloaded page continues with it. */
const { scenario = '' } = byId('agent').dataset
const RUN = `demo-run-${scenario}`
/** The user of the phone: the demo has no other sign-in. */
const SUBJECT = 'demo-subject'

const button = /** @type {HTMLButtonElement} */ (byId('run'))
const lines = byId('lines')
const receipt = byId('receipt')
/** @type {View | undefined} */
let view
/** What the page has scrolled to, so that it does so once. */
let shown = ''

button.addEventListener('click', () => void run())
follow((snapshot) => {
  view = snapshot?.agent
  draw()
})

async function run() {
  button.disabled = true
  const subject = localStorage.getItem(SUBJECT)
  const started = await call('/agent/run', { name: scenario, subject })
  button.disabled = false
  if (started === undefined) return
  sessionStorage.setItem(RUN, started.run)
  lines.replaceChildren()
  draw()
}

function draw() {
  // Another tab may run the agent.
  if (view?.run !== sessionStorage.getItem(RUN)) return
  const { lines: all, offer, outcome, isOver, subject } = view
  button.disabled = !isOver
  button.textContent = isOver ? 'Run the agent again' : 'Running…'
  if (subject !== null) localStorage.setItem(SUBJECT, subject)
  lines.append(...all.slice(lines.childElementCount).map(row))
  lines.scrollTop = lines.scrollHeight
  byId('result-title').textContent = outcome?.title ?? 'Result'
  byId('result-text').textContent =
    outcome?.text ?? 'Nothing is paid until you approve on the phone.'
  byId('result').classList.toggle('over', outcome !== null)
  drawReceipt(outcome?.receipt)
  // On a small screen, the phone or the result is the next step.
  if (isOver) scrollOnce('over', byId('result'))
  else if (outcome && !offer) scrollOnce('waiting', byId('result'))
  else if (offer) scrollOnce(offer.session_id, document.querySelector('.demo-phone iframe'))
}

/** @param {Line} line */
function row({ by, text, call, tone = 'info' }) {
  const sentence = element('p', {}, element('strong', { text: `${by} ` }), new Text(text))
  const made = element('div', {}, sentence)
  if (call !== undefined) made.append(element('pre', { text: call }))
  made.dataset.tone = tone
  return made
}

/** @param {Outcome['receipt']} shown */
function drawReceipt(shown) {
  receipt.hidden = shown === undefined
  if (shown === undefined) return
  const rows = shown.rows.map(([label, value]) =>
    element('div', {}, element('dt', { text: label }), element('dd', { text: value })),
  )
  const text = element('dd', {}, element('pre', { text: shown.text }))
  receipt.replaceChildren(...rows, element('div', {}, element('dt', { text: 'Text' }), text))
}

/**
 * @param {string} name
 * @param {Element | null} place
 */
function scrollOnce(name, place) {
  if (shown === name) return
  shown = name
  place?.scrollIntoView({ block: 'nearest', behavior: 'instant' })
}
