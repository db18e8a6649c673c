import type { TenantId } from '@bonded/contract'
import { type Html, html, type Part } from './html.ts'
import { menuOf } from './menu.ts'
import type { View } from './page.ts'
import { includes, type Role } from './roles.ts'
import type { SignedIn } from './sessions.ts'
import { STYLE } from './style.ts'

/** A whole document. In a session, it has the menu of the role. */
export function documentOf(given: {
  readonly title: string
  readonly body: Html
  readonly session: SignedIn | undefined
  readonly path: string
}): Html {
  const { title, body, session, path } = given
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="light dark">
<title>${title} · Bonded Sessions</title>
<link rel="stylesheet" href="${STYLE.path}">
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
${session && header(session, path)}
<main id="content" tabindex="-1">
<h1>${title}</h1>
${body}
</main>
</body>
</html>
`
}

function header({ role, label, formToken }: SignedIn, path: string): Html {
  const entries = menuOf(role).map(
    ({ to, text }) =>
      html`<li><a href="${to}"${isWithin(path, to) && html` aria-current="page"`}>${text}</a></li>`,
  )
  return html`<header>
<nav aria-label="Console"><ul>${entries}</ul></nav>
<form method="post" action="/sign-out"><input type="hidden" name="token" value="${formToken}">
<span class="who"><bdi>${label}</bdi> · ${role}</span> <button class="quiet">Sign out</button></form>
</header>`
}

function isWithin(path: string, to: string): boolean {
  return to === '/' ? path === '/' : path === to || path.startsWith(`${to}/`)
}

/** Text that someone stored. Its direction does not reach what is around it. */
export function stored(text: string | null | undefined): Html {
  return text ? html`<bdi>${text}</bdi>` : html`<span class="none">none</span>`
}

/** An id that one click selects as a whole. */
export function idOf(id: string | null | undefined, to?: string): Html {
  if (!id) return html`<span class="none">none</span>`
  const code = html`<code class="id">${id}</code>`
  return to === undefined ? code : html`${code} <a class="open" href="${to}">Open</a>`
}

/** A tenant by its name, which leads to its id. */
export function tenantOf(id: TenantId, { names }: View): Html {
  return html`<a class="name" href="/tenants/${id}">${stored(names.get(id) ?? id)}</a>`
}

const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
] as const

/** A time with its zone, and how far away it is. */
export function timeOf(at: number | string | null | undefined, now: number): Html {
  if (at === null || at === undefined) return html`<span class="none">never</span>`
  const iso = new Date(at).toISOString()
  const [day = '', clock = ''] = iso.split('T')
  return html`<time datetime="${iso}"><span class="nowrap">${day} ${clock.slice(0, 8)} UTC</span> <span class="ago">${distance(Date.parse(iso) - now)}</span></time>`
}

/** How far a time is from now, in its largest unit. */
export function distance(ms: number): string {
  const [unit, length] = UNITS.find(([, each]) => Math.abs(ms) >= each) ?? ['second', 1_000]
  const count = Math.trunc(Math.abs(ms) / length)
  if (count === 0) return 'now'
  const text = `${count} ${unit}${count === 1 ? '' : 's'}`
  return ms < 0 ? `${text} ago` : `in ${text}`
}

/** A table, or what to do if there is nothing in it. Narrow, each row is a list with headings. */
export function tableOf(
  headings: readonly string[],
  rows: readonly (readonly Part[])[],
  empty: Part,
): Html {
  if (rows.length === 0) return html`<p class="empty">${empty}</p>`
  const cells = (row: readonly Part[]) =>
    row.map((cell, index) => html`<td data-heading="${headings[index]}">${cell}</td>`)
  return html`<div class="table"><table>
<thead><tr>${headings.map((text) => html`<th scope="col">${text}</th>`)}</tr></thead>
<tbody>${rows.map((row) => html`<tr>${cells(row)}</tr>`)}</tbody>
</table></div>`
}

/** Names with their values. */
export function factsOf(facts: readonly (readonly [name: Part, value: Part])[]): Html {
  return html`<dl>${facts.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`
}

/** Stored text as it is, each line with a direction of its own. */
export function linesOf(text: string): Html {
  return html`<pre>${text.split('\n').map((line) => html`<bdi>${line}</bdi>\n`)}</pre>`
}

/** A link to an action, for the roles that may do it. */
export function actionTo(
  to: string,
  { text, role, view }: { readonly text: string; readonly role: Role; readonly view: View },
): Html | false {
  return (
    includes(view.session.role, role) && html`<a class="button quiet" href="${to}">${text}…</a>`
  )
}

/** A word in a frame, whose color repeats what the word says. */
export function badge(text: string, tone: 'good' | 'bad' | 'plain' = 'plain'): Html {
  return html`<span class="badge ${tone}">${text}</span>`
}
