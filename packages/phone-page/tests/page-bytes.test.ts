import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { loadPhonePage } from '../build/bundle.ts'
import { inboxEn } from '../src/inbox/messages.ts'
import { en } from '../src/messages/en.ts'
import { LANGUAGES } from '../src/messages/language.ts'

const MAX_PAGE_BYTES = 41_000
const MAX_LANGUAGE_BYTES = 4_200
const MAX_INBOX_BYTES = 43_500
const MAX_INBOX_WORDS_BYTES = 4_600

test('with any one language the page is at most 41 kB compressed, and the inbox 43.5 kB', async () => {
  const { inbox, languages, ...page } = await loadPhonePage()
  const sizeOf = (text: string) => gzipSync(text, { level: 9 }).length
  const sizes = [page, inbox].map(({ script, style }) => sizeOf(script) + sizeOf(style))
  for (const [name, words] of languages) {
    const isInbox = name.startsWith('inbox-')
    const [maxWords, max] = isInbox
      ? [MAX_INBOX_WORDS_BYTES, MAX_INBOX_BYTES]
      : [MAX_LANGUAGE_BYTES, MAX_PAGE_BYTES]
    const bytes = sizeOf(words)
    const all = bytes + (sizes[Number(isInbox)] ?? 0)
    assert.ok(bytes <= maxWords, `${name}: ${bytes} B`)
    assert.ok(all <= max, `${name}: ${all} B`)
  }
})

test('the words of each language are in the order of the English ones, which names them', () => {
  const read = (name: string) =>
    JSON.parse(readFileSync(new URL(`../${name}.json`, import.meta.url), 'utf8')) as object
  const ofInbox = read('inbox-words') as Record<string, object>
  for (const tag of LANGUAGES) {
    const words = read(`languages/${tag}`)
    assert.deepEqual(Object.keys(words), Object.keys(en), tag)
    assert.deepEqual(Object.keys({ ...words, ...ofInbox[tag] }), Object.keys(inboxEn), tag)
  }
})
