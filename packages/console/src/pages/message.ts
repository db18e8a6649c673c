import type { Answer } from '../answer.ts'
import { html } from '../html.ts'
import { documentOf } from '../layout.ts'
import type { SignedIn } from '../sessions.ts'

/** A page that only says something, and what to do next. */
export function messagePage(given: {
  readonly status: number
  readonly title: string
  readonly text: string
  readonly link: { readonly to: string; readonly text: string }
  readonly session?: SignedIn | undefined
}): Answer {
  const { status, title, text, link, session } = given
  const body = html`<p>${text}</p><p><a class="button" href="${link.to}">${link.text}</a></p>`
  return { status, body: documentOf({ title, body, session, path: '' }) }
}

export const NOT_FOUND = {
  status: 404,
  title: 'Not found',
  text: 'There is no such page. Check the address, or begin at the start page.',
  link: { to: '/', text: 'Start page' },
}
