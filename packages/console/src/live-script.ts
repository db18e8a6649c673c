import { staticFile } from './static-file.ts'

/**
 * Reads a page again while someone sees it, and replaces its figures. After a failed read, such as
 * an answer of a proxy, it says since when, and tries again. It ends when the answer is another
 * page, such as that of the sign-in.
 */
export const LIVE_SCRIPT = staticFile(
  'live',
  'javascript',
  `const live = () => document.querySelector('.live')
let isOpen = false
let readAt = new Date()
const say = (text) => { document.querySelector('[role=status]').textContent = text }
const late = () => say('Not up to date since ' + readAt.toLocaleTimeString() + ': the console does not answer. It is tried again every 30 seconds.')
const end = () => {
  clearInterval(timer)
  say('The figures are not updated any more. Load this page again.')
}
const read = () => {
  if (document.hidden || isOpen || live().contains(document.activeElement)) return
  isOpen = true
  const request = new XMLHttpRequest()
  request.open('GET', location.href)
  request.responseType = 'document'
  request.timeout = 25_000
  request.onloadend = () => {
    isOpen = false
    // A sign-in leads to another origin, which reads as a failure, too.
    if (!request.response)
      return fetch(location.href, { method: 'HEAD', redirect: 'manual' }).then(
        ({ type }) => type === 'opaqueredirect' ? end() : late(), late)
    if (request.status >= 429) return late()
    const fresh = request.responseURL === location.href && request.response.querySelector('.live')
    if (!fresh) return end()
    live().replaceWith(document.adoptNode(fresh))
    readAt = new Date()
    say('')
  }
  request.send()
}
const timer = setInterval(read, 30_000)
`,
)
