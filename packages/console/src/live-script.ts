import { staticFile } from './static-file.ts'

/**
 * Reads a page again while someone sees it, and replaces its figures. It goes on after
 * an outage, and ends when the answer is another page, such as that of the sign-in.
 */
export const LIVE_SCRIPT = staticFile(
  'live',
  'javascript',
  `const live = () => document.querySelector('.live')
const say = (text) => { document.querySelector('[role=status]').textContent = text }
let isOpen = false
const read = async () => {
  if (document.hidden || isOpen || live().contains(document.activeElement)) return
  isOpen = true
  try {
    // A redirect leads to the sign-in, which this page must not begin.
    const response = await fetch(location.href, { redirect: 'manual' })
    if (response.status >= 500) throw new Error('an outage')
    const parsed = new DOMParser().parseFromString(await response.text(), 'text/html')
    const fresh = response.ok && parsed.querySelector('.live')
    if (fresh) live().replaceWith(fresh)
    else clearInterval(timer)
    say(fresh ? '' : 'The figures are not updated any more. Load this page again.')
  } catch {
    say('The figures could not be read, and will be read again.')
  } finally {
    isOpen = false
  }
}
const timer = setInterval(read, 30_000)
`,
)
