import { staticFile } from './static-file.ts'

/**
 * Reads a page again while someone sees it, and replaces its figures. It ends when the answer is
 * another page, such as that of the sign-in.
 */
export const LIVE_SCRIPT = staticFile(
  'live',
  'javascript',
  `const live = () => document.querySelector('.live')
let isOpen = false
const read = () => {
  if (document.hidden || isOpen || live().contains(document.activeElement)) return
  isOpen = true
  const request = new XMLHttpRequest()
  request.open('GET', location.href)
  request.responseType = 'document'
  request.onloadend = () => {
    isOpen = false
    const fresh = request.responseURL === location.href && request.response?.querySelector('.live')
    if (fresh) return live().replaceWith(document.adoptNode(fresh))
    clearInterval(timer)
    document.querySelector('[role=status]').textContent = 'The figures are not updated any more. Load this page again.'
  }
  request.send()
}
const timer = setInterval(read, 30_000)
`,
)
