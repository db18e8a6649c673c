import type { Messages } from '../messages/messages.ts'
import { element } from './dom.ts'

/** The panel for a user who cannot scan the QR code. */
export interface Help {
  readonly node: HTMLDialogElement
  readonly open: () => void
  readonly write: (messages: Messages) => void
  /** The handoff link of the shown QR code. Null closes the panel: there is nothing to scan. */
  readonly setLink: (link: string | null) => void
}

/**
 * Creates the closed panel. It is a modal dialog: the browser draws it above the page whatever the
 * size of the container, moves the focus into it and back, and closes it with Escape.
 */
export function helpPanel(): Help {
  const title = element('h2', { class: 'title', id: 'help' })
  const copy = element('button', { class: 'button' })
  const open = element('a', { class: 'link', target: '_blank', rel: 'noopener noreferrer' })
  const note = element('p', { class: 'note', role: 'status' })
  const [whatTitle, noAppTitle] = [element('h3'), element('h3')]
  const [what, noApp] = [element('p'), element('p')]
  const close = element('button', { class: 'button plain' })
  const parts = [title, copy, note, whatTitle, what, noAppTitle, noApp, open, close]
  const node = element('dialog', { class: 'help', 'aria-labelledby': 'help' }, ...parts)
  let copied = ''
  const copyLink = async () => {
    try {
      await navigator.clipboard.writeText(open.href)
      note.textContent = copied
    } catch {
      // The clipboard can be forbidden in a frame. The user copies the link from this prompt.
      prompt(copy.textContent, open.href)
    }
  }
  copy.addEventListener('click', () => void copyLink())
  close.addEventListener('click', () => node.close())
  // A click on the backdrop has the dialog itself as its target.
  node.addEventListener('click', ({ target }) => target === node && node.close())
  return {
    node,
    open() {
      note.textContent = ''
      node.showModal()
    },
    write(messages) {
      title.textContent = messages.cannotScan
      copy.textContent = messages.copyLink
      copied = messages.linkCopied
      open.textContent = messages.openHere
      whatTitle.textContent = messages.whatTitle
      what.textContent = messages.whatBody
      noAppTitle.textContent = messages.noAppTitle
      noApp.textContent = messages.noAppBody
      close.textContent = messages.close
    },
    setLink(link) {
      if (link === null) return node.close()
      if (open.href !== link) open.href = link
    },
  }
}
