import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { assertText } from '../../../tests/harness/expected-text.ts'
import { chartOf, shareBar } from '../src/charts.ts'
import { html } from '../src/html.ts'
import { documentOf, distance, idOf, linesOf, stored, tableOf, timeOf } from '../src/layout.ts'
import { LIVE_SCRIPT } from '../src/live-script.ts'
import { PASSKEY_SCRIPT } from '../src/passkey-script.ts'
import { messagePage, NOT_FOUND } from '../src/pages/message.ts'
import { ROLES } from '../src/roles.ts'
import { ROUTES } from '../src/routes.ts'
import { start } from '../src/pages/start.ts'
import type { SignedIn } from '../src/sessions.ts'
import { MESSAGES } from '../src/sign-in.ts'
import { POLICY, SCRIPT_POLICY, type StaticFile } from '../src/static-file.ts'
import { STYLE } from '../src/style.ts'

const FOLDER = join(import.meta.dirname, 'drawn')
const sessionOf = (role: SignedIn['role']) =>
  ({ role, label: `Ada\u202e <${role}>`, formToken: `token-of-${role}` }) as SignedIn

/** Paths of files have the hash of their content, which every change of it changes. */
const unhashed = (text: string) => text.replaceAll(/-[0-9a-f]{16}(?=\.)/g, '-HASH')

test('the frame of a page has the menu, the name and the sign-out of its role', () => {
  const frames = ROLES.flatMap((role) =>
    ['/', '/tenants', '/tenants/ten_1', '/changesets'].map((path) =>
      documentOf({ title: 'A & B', body: html`<p>body</p>`, session: sessionOf(role), path }),
    ),
  )
  const without = documentOf({ title: 'T', body: html``, session: undefined, path: '/' })
  const all = [...frames, without].map(({ markup }) => markup)
  assertText(join(FOLDER, 'frame.txt'), unhashed(all.join('===\n')))
})

test('the link that skips the menu is out of view, and comes into it with the focus', () => {
  const rules = String(STYLE.answer.body).match(/^\.skip.*$/gm) ?? []
  assert.equal(rules.length, 2)
  // An element that is hidden or not displayed gets no focus.
  for (const rule of rules) assert.doesNotMatch(rule, /visibility|display|content-visibility/)
  assert.match(rules[0] ?? '', /inset-inline-start:-/)
  assert.match(rules[1] ?? '', /^\.skip:focus\{inset-inline-start:1rem/)
})

test('a role sees the questions of the start page that it may ask', async () => {
  const texts = []
  for (const role of ROLES) {
    const opened = start.open({ params: {}, query: new URLSearchParams() })
    const draw = await opened?.read({ store: { read: async () => new Map() } } as never)
    const view = { now: 0, session: sessionOf(role), publicOrigin: 'https://bond.example' }
    texts.push(`=== ${role}\n${draw?.(view).markup}`)
  }
  assertText(join(FOLDER, 'start-of-roles.txt'), texts.join('\n'))
})

test('the routes have the paths, roles, commands, titles and verbs of their guide', () => {
  const rows = ROUTES.map((route) => {
    const { path, role, action, title, query = [], isLive = false } = route
    const change = 'changes' in route ? `${route.changes}: ${route.verb}` : ''
    return [path, role, action, title, query.join(' '), isLive ? 'live' : '', change].join(' | ')
  })
  assertText(join(FOLDER, 'routes.txt'), rows.join('\n'))
})

test('the parts of pages draw each kind of value, and escape what was stored', () => {
  const lengths = [0, 999, 1_000, 1_999, 59_999, 60_000, 119_999, 120_000, 3_599_999, 3_600_000]
  const days = [86_399_999, 86_400_000, 172_799_999, 172_800_000]
  const parts = [
    ...[...lengths, ...days].map((ms) => `${ms}: ${distance(ms)} / ${distance(-ms)}`),
    timeOf(null, 0).markup,
    timeOf(undefined, 0).markup,
    timeOf('2026-11-21T09:30:01.999Z', Date.UTC(2026, 10, 21, 9, 30)).markup,
    timeOf(Date.UTC(2026, 10, 20), Date.UTC(2026, 10, 21, 9, 30)).markup,
    ...[null, undefined, '', `<a href="x">'&\u202e`].map((text) => stored(text).markup),
    ...[null, undefined, '', 'dev_1'].map((id) => idOf(id, '/devices/dev_1').markup),
    idOf('dev_1').markup,
    linesOf('a\n\nb <').markup,
    tableOf(
      ['A', 'B'],
      [
        [1, 'x'],
        [0, false],
        [html`<i>`, null],
      ],
      'none',
    ).markup,
    tableOf(['A'], [], 'none').markup,
    html`${[undefined, null, false, 0, '', ['a', html`<b>`, ['"']]]}`.markup,
  ]
  assertText(join(FOLDER, 'parts.txt'), parts.join('\n'))
})

test('a chart has its bars at their places, in proportion, above and below its line', () => {
  const bar = (size: number) => ({ size, says: `${size} <` })
  const chart = { title: 'T<', sum: '5', label: 'L"', tone: 'good', axis: ['a', 'b'] } as const
  const drawn = [
    chartOf({ ...chart, bars: [bar(1), bar(0), bar(3)], below: [bar(0), bar(1), bar(2)] }),
    chartOf({ ...chart, bars: [bar(2), bar(7)] }),
    chartOf({ ...chart, bars: [bar(0), bar(0)], below: [bar(0)] }),
    shareBar(1, 2, 4),
    shareBar(2, 1, 3),
    shareBar(0, 0, 0),
  ]
  assertText(join(FOLDER, 'charts.txt'), drawn.map(({ markup }) => markup).join('\n===\n'))
})

test('the files, the policies and the messages are those that were read and agreed on', () => {
  const fileOf = ({ path, answer }: StaticFile) =>
    // Their paths have the hash of the content.
    [path, answer.status, JSON.stringify(answer.headers)].join(' ')
  const message = messagePage({ ...NOT_FOUND, session: sessionOf('viewer') })
  const texts = [
    ...[STYLE, LIVE_SCRIPT, PASSKEY_SCRIPT].map(fileOf),
    POLICY,
    SCRIPT_POLICY,
    ...Object.entries(MESSAGES).map(([code, text]) => `${code}: ${text}`),
    `${message.status} ${(message.body as { markup: string }).markup}`,
  ]
  assertText(join(FOLDER, 'messages.txt'), unhashed(texts.join('\n')))
})
