import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { loadPulseScript, type PulseFile } from '../build/bundle.ts'
import { readLanguages } from '../build/languages.ts'
import { loadMessages } from '../src/messages/load.ts'
import { en } from '../src/messages/messages.ts'

/** The size of a language as the service sends it. */
const BUDGET_BYTES = 1_300
/** The texts of the browser's proof, which few pages load. */
const PROOF_BUDGET_BYTES = 500
const ENGLISH = { tag: 'en', messages: en }

/** The files of the service, which a test may replace, and the requests for them. */
const served = new Map<string, string>()
const requested: string[] = []
const service = createServer((request, response) => {
  requested.push(request.url ?? '')
  const text = served.get(request.url ?? '')
  response.writeHead(text === undefined ? 404 : 200).end(text)
})
let folder: string
let origin: string
let files: readonly PulseFile[]

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pulse-languages-'))
  for (const tag of ['de', 'en', 'zh-Hant']) await writeLanguage(tag, tag)
  const languages = await readLanguages(folder, integrityOf)
  files = languages.files
  // The bundler replaces these names in the script.
  Object.assign(globalThis, {
    PULSE_LANGUAGES_PATH: languages.folder,
    PULSE_LANGUAGES_INTEGRITY: languages.integrity,
  })
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve))
  origin = `http://127.0.0.1:${(service.address() as AddressInfo).port}`
})
after(async () => {
  service.close()
  await rm(folder, { recursive: true })
})
beforeEach((t) => {
  requested.length = 0
  served.clear()
  for (const { path, source } of files) served.set(path, source)
  if ('mock' in t) t.mock.method(console, 'warn', () => {})
})

/** Writes a language whose label differs, in another order than English. */
function writeLanguage(tag: string, label: string): Promise<void> {
  const entries = Object.entries({ ...en, label })
  const texts = Object.fromEntries(tag === 'en' ? entries : entries.toReversed())
  return writeFile(join(folder, `${tag}.json`), JSON.stringify(texts))
}

function integrityOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`
}

/** The tag that was loaded, and the label in its file. */
async function loaded(...wanted: string[]): Promise<readonly string[]> {
  const { tag, messages } = await loadMessages(wanted, origin)
  return [tag, messages.label]
}

test('loads the first wanted language that exists, by language and script', async () => {
  assert.deepEqual(await loaded('de'), ['de', 'de'])
  assert.deepEqual(await loaded('de-AT'), ['de', 'de'])
  assert.deepEqual(await loaded('ZH-hant-TW', 'de'), ['zh-hant', 'zh-Hant'])
  assert.deepEqual(await loaded('zh-CN', 'de_AT'), ['de', 'de'])
  assert.deepEqual(await loaded('xx', 'de'), ['de', 'de'])
})

test('loads one language and the index, and nothing for English', async () => {
  await loaded('de')
  assert.deepEqual(
    requested.map((path) => path.split('/').at(-1)),
    ['index.json', 'de.json'],
  )
  requested.length = 0
  for (const wanted of [[], ['en'], ['en-GB', 'de'], ['EN', 'de']])
    assert.deepEqual(await loadMessages(wanted, origin), ENGLISH)
  assert.deepEqual(requested, [])
})

test('keeps English for a language that does not exist, or that comes after English', async () => {
  assert.deepEqual(await loadMessages(['xx', 'constructor', '__proto__', ''], origin), ENGLISH)
  assert.deepEqual(await loadMessages(['xx', 'en', 'de'], origin), ENGLISH)
})

test('keeps English when a file is missing, changed, or cannot be loaded', async () => {
  const [index, german] = files as [PulseFile, PulseFile]
  for (const { path } of [index, german]) {
    const source = served.get(path)!
    for (const changed of [undefined, source.replace('de', 'xx'), '', '<html>']) {
      served.clear()
      for (const file of files) served.set(file.path, file.source)
      if (changed === undefined) served.delete(path)
      else served.set(path, changed)
      assert.deepEqual(await loadMessages(['de'], origin), ENGLISH, `${path}: ${changed}`)
    }
  }
  assert.deepEqual(await loadMessages(['de'], 'http://127.0.0.1:1'), ENGLISH)
})

test('names every file by a path that changes with the content', async () => {
  const [index] = files
  await writeLanguage('de', 'neu')
  const changed = await readLanguages(folder, integrityOf)
  assert.notEqual(changed.files[0]?.path, index?.path)
  assert.match(changed.folder, /^\/v1\/lang\/[0-9a-f]{16}\/$/)
})

test('each language has at most 1.3 kB gzip, its proof 0.5 kB, and both an integrity', async () => {
  const { files } = await loadPulseScript()
  const [index, ...languages] = files.filter(({ path }) => path.startsWith('/v1/lang/'))
  const isOfProof = ({ path }: { path: string }) => path.includes('/leg-')
  const integritiesOf = (of: typeof files) => of.map(({ integrity }) => integrity)
  const widget = languages.filter((file) => !isOfProof(file))
  assert.deepEqual(Object.values(JSON.parse(index!.source)), integritiesOf(widget))
  assert.deepEqual(
    widget.map(({ source }) => JSON.parse(source).leg),
    integritiesOf(languages.filter(isOfProof)),
  )
  for (const file of [index!, ...languages]) {
    assert.equal(file.integrity, integrityOf(file.source))
    const budget = isOfProof(file) ? PROOF_BUDGET_BYTES : BUDGET_BYTES
    const bytes = gzipSync(file.source, { level: 9 }).length
    if (file !== index) assert.ok(bytes <= budget, `${file.path}: ${bytes} B`)
  }
})
