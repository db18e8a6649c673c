import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { harness } from '../../../../tests/harness/harness.ts'
import { LANGUAGES, textsIn } from '../../../../tests/harness/intl-texts.ts'

const h = await harness()
after(() => h[Symbol.asyncDispose]())
/** The most pairs of one context. */
const PAIRS = 8

/** The texts of a batch that a create rejects, or returns changed. */
async function rejected(batch: readonly string[]): Promise<string[]> {
  const display = batch.map((value, index) => ({ label: `Label ${index}`, value }))
  const reply = await h.api('POST', '/sessions', {
    token: h.shop.server,
    body: {
      workflow: 'credit_application',
      action: 'submit_application',
      context: { display },
    },
  })
  if (reply.status !== 201) return [`${reply.text}: ${batch.join(' | ')}`]
  const stored = reply.body.context?.display ?? []
  return batch.filter((value, index) => stored[index]?.value !== value)
}

test('creates sessions with each amount, date, time, list and name as Intl writes them', async () => {
  const seen = new Set<string>()
  const failed: string[] = []
  for (const language of LANGUAGES) {
    const texts = [...new Set(textsIn(language))].filter((text) => !seen.has(text))
    for (const text of texts) seen.add(text)
    const batches = Array.from({ length: Math.ceil(texts.length / PAIRS) }, (_, index) =>
      texts.slice(index * PAIRS, (index + 1) * PAIRS),
    )
    const results = await Promise.all(batches.map(rejected))
    failed.push(...results.flat().map((text) => `${language}: ${text}`))
  }
  assert.deepEqual(failed, [])
  assert.ok(seen.size > 10_000, `${seen.size} texts`)
})
