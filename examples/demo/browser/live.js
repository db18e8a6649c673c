// @ts-check

/** Pause before a new attempt to connect. */
const RECONNECT_MS = 1_000
const token = /** @type {HTMLMetaElement} */ (document.querySelector('meta[name="demo-token"]'))
  .content

/**
 * Calls the listener with every snapshot of the sandbox, and with undefined while it does not run.
 * @param {(snapshot: any) => void} listener
 */
export function follow(listener) {
  const socket = new WebSocket(`ws://${location.host}/live`, ['demo', `token.${token}`])
  socket.addEventListener('message', ({ data }) => listener(JSON.parse(data)))
  socket.addEventListener('close', () => {
    listener(undefined)
    setTimeout(() => follow(listener), RECONNECT_MS)
  })
}

/**
 * Calls the sandbox. Only this page has the token that it requires.
 * @param {string} path
 * @param {object} [fields]
 * @returns {Promise<any>} the response; undefined if it was rejected or there was none
 */
export async function call(path, fields = {}) {
  try {
    const response = await fetch(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-demo-token': token },
      body: JSON.stringify(fields),
    })
    return response.ok ? await response.json() : undefined
  } catch {
    return undefined
  }
}

/**
 * Creates an element. Text is inserted as text, never as HTML.
 * @param {string} tag
 * @param {{ text?: string, className?: string }} [facts]
 * @param {...Node} children
 */
export function element(tag, { text, className } = {}, ...children) {
  const made = document.createElement(tag)
  if (text !== undefined) made.textContent = text
  if (className !== undefined) made.className = className
  made.append(...children)
  return made
}

/** @param {string} id */
export function byId(id) {
  const found = document.getElementById(id)
  if (!found) throw new Error(`the page has no #${id}`)
  return found
}
