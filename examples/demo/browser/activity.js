// @ts-check
import { byId, call, element, follow } from './live.js'

/**
 * @typedef {{
 *   id: number, at: string, actor: string, call?: string, text: string, result?: string,
 *   tone: string,
 * }} Entry
 */

const list = byId('entries')
const toggle = /** @type {HTMLButtonElement} */ (byId('toggle'))
let isRunning = true

follow((snapshot) => {
  if (snapshot === undefined)
    return showService('The sandbox is not running. Start it with npm start.')
  isRunning = snapshot.isServiceRunning
  toggle.textContent = isRunning ? 'Stop the service' : 'Start the service'
  toggle.disabled = false
  toggle.classList.toggle('urgent', !isRunning)
  showService(isRunning ? '' : 'The service is stopped. Nothing can be approved.')
  showEntries(snapshot.activity)
})

toggle.addEventListener('click', () => {
  toggle.disabled = true
  void call(isRunning ? '/service/stop' : '/service/start').then(() => (toggle.disabled = false))
})

/** @param {string} text */
function showService(text) {
  byId('service').textContent = text
}

/** @param {Entry[]} entries oldest first */
function showEntries(entries) {
  byId('empty').hidden = entries.length > 0
  const newest = Number(/** @type {HTMLElement | null} */ (list.firstElementChild)?.dataset.id ?? 0)
  // A restarted sandbox counts from 1 again.
  if ((entries.at(-1)?.id ?? 0) < newest) list.replaceChildren()
  for (const entry of entries.filter(({ id }) => id > newest)) list.prepend(row(entry))
  while (list.childElementCount > entries.length) list.lastElementChild?.remove()
}

/** @param {Entry} entry */
function row({ id, at, actor, call, text, result, tone }) {
  const time = element('time', { text: new Date(at).toLocaleTimeString('en-GB') })
  const sentence = element('p', {}, element('strong', { text: `${actor} ` }), new Text(text))
  const sent = element('code', {})
  if (call !== undefined) sent.textContent = `${actor} → ${call}${result ? `: ${result}` : ''}`
  const made = element('li', {}, time, sentence, sent)
  made.dataset.id = String(id)
  made.dataset.tone = tone
  return made
}
