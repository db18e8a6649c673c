import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { harness } from '../../../../../tests/harness/harness.ts'

const h = await harness()
after(() => h[Symbol.asyncDispose]())

/** The committed pages, which say the same as the page that an error response links. */
const FOLDER = join(import.meta.dirname, '../../../../../docs/reference/reasons')
const LISTED = [
  ...readFileSync(join(FOLDER, 'README.md'), 'utf8').matchAll(/^\| \[`(\w+)`\]/gm),
].map(([, reason = '']) => reason)
const PARTS = ['What happened', 'Likely cause', 'What to do'] as const

test('the page says of every reason, in the order of the reference, what the reference says', async () => {
  const { text } = await h.call('GET', '/reasons')
  const [, ...sections] = text.split('<h2 id="')
  assert.deepEqual(
    sections.map((section) => section.split('"')[0]),
    LISTED,
  )
  for (const [index, reason] of LISTED.entries()) {
    const page = readFileSync(join(FOLDER, `${reason}.md`), 'utf8')
    const section = sections[index] ?? ''
    for (const part of PARTS) {
      const [, written] = new RegExp(`^\\*\\*${part}\\.\\*\\* (.*)$`, 'm').exec(page) ?? []
      const [, served] = new RegExp(`<p><b>${part}\\.</b> (.*)</p>`).exec(section) ?? []
      assert.equal(served, htmlOf(written ?? assert.fail(`${reason}: ${part}`)), reason)
    }
    const rows = Object.fromEntries(
      [...page.matchAll(/^\| (.*?) \| (.*) \|$/gm)].map(([, member = '', value = '']) => [
        member,
        value,
      ]),
    )
    assert.match(
      section,
      new RegExp(`<p class="muted">${rows.status} <code>.*</code>\\. Retryable: `),
    )
    const [, retry] = /Retryable: (.*)\.<\/p>/.exec(section) ?? []
    assert.equal(retry, htmlOf(rows.retryable ?? ''), reason)
  }
})

test('the reference has a page for every reason that it lists, and for no other', () => {
  const pages = readdirSync(FOLDER).filter((name) => name !== 'README.md')
  assert.deepEqual(pages.toSorted(), LISTED.map((reason) => `${reason}.md`).toSorted())
})

/** The Markdown of these pages: code, links whose targets are other documents, and text. */
function htmlOf(markdown: string): string {
  return markdown
    .split(/(`[^`]+`)/)
    .map((piece, index) => {
      const text = piece
        .replaceAll('&', '&amp;')
        .replaceAll('<', '&lt;')
        .replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1')
      return index % 2 === 0 ? text : `<code>${text.slice(1, -1)}</code>`
    })
    .join('')
}
