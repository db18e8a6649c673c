import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadMessages } from '../../src/messages/load.ts'

const ORIGIN = 'https://bond.example'
Object.assign(globalThis, {
  PULSE_LANGUAGES_PATH: '/v1/languages/',
  PULSE_LANGUAGES_INTEGRITY: 'sha384-index',
})

test('loads the first language that the service has, and nothing where English is wanted first', async (context) => {
  const asked: string[] = []
  context.mock.method(globalThis, 'fetch', async (url: URL, { integrity }: RequestInit) => {
    asked.push(`${url.href} ${integrity}`)
    if (url.pathname.endsWith('index.json'))
      return Response.json({ de: 'sha384-de', 'pt-br': 'sha384-pt' })
    return new Response(null, { status: 404 })
  })
  const warned = context.mock.method(console, 'warn', () => {})
  const index = `${ORIGIN}/v1/languages/index.json sha384-index`
  for (const [wanted, ...urls] of [
    [[]],
    [['en']],
    [['en-GB', 'de']],
    [['de', 'en'], index, `${ORIGIN}/v1/languages/de.json sha384-de`],
    [['de-AT', 'en-US', 'en'], index, `${ORIGIN}/v1/languages/de.json sha384-de`],
    [['pt-BR', 'en'], index, `${ORIGIN}/v1/languages/pt-br.json sha384-pt`],
    [['xx', 'de', 'en'], index, `${ORIGIN}/v1/languages/de.json sha384-de`],
    [['xx', 'en', 'de'], index],
    [['xx'], index],
  ] as const) {
    asked.length = 0
    // The files of this test are not there, so the texts are English.
    assert.equal((await loadMessages(wanted, ORIGIN)).tag, 'en')
    assert.deepEqual(asked, urls, wanted.join())
  }
  assert.equal(warned.mock.callCount(), 4)
})
