import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { documents, ROOT } from '../../scripts/site/documents.ts'
import { NOT_RUN, SHOWN } from './not-run.ts'
import { KINDS, REPLACEMENTS } from './replacements.ts'
import { type Sample, samplesOf, testsOf } from './samples.ts'

/** The documents whose blocks a reader runs. */
const guides = documents().filter((path) =>
  /^(?:README|docs\/guides\/.+|examples\/[\w-]+\/README)\.md$/.test(path),
)
const blocks = guides.flatMap(samplesOf)
const isRun = (sample: Sample) => testsOf(sample).length > 0
const left = blocks.filter((block) => !isRun(block) && !(block.language in SHOWN))
const isListed = ({ path, code }: Sample) =>
  (NOT_RUN[path] ?? []).some(([begins]) => code.startsWith(begins))
const describe = ({ path, line, code }: Sample) => `${path}:${line}: ${code.split('\n')[0]}`

test('a block of a guide is run by a test, or is listed with the reason', () => {
  assert.ok(guides.length > 30 && blocks.length > 100, 'the guides were found')
  const unlisted = left.filter((block) => !isListed(block))
  assert.deepEqual(unlisted.map(describe), [], 'run it in a test, or add it to NOT_RUN')
})

test('a listed block is in its guide, and no test runs it', () => {
  const gone = Object.entries(NOT_RUN).flatMap(([path, list]) =>
    list.filter(
      ([begins]) => !left.some((block) => block.path === path && block.code.startsWith(begins)),
    ),
  )
  assert.deepEqual(gone, [])
})

test('a test replaces only what differs for each reader, in blocks that have it', () => {
  for (const [path, texts] of Object.entries(REPLACEMENTS))
    for (const [text, kind] of Object.entries(texts)) {
      assert.match(text, KINDS[kind].written, `${path}: ${text} is no ${kind}`)
      const isFound = samplesOf(path).some((block) => isRun(block) && block.code.includes(text))
      assert.ok(isFound, `no block that a test runs has ${text}: ${path}`)
    }
})

/** Modules that read the blocks of documents for other reasons than to run them. */
const READERS = ['tests/documents.test.ts', 'tests/samples/samples.ts', 'tests/wording/wording.ts']
/** In a second walk, the guide for agents has a tenant of production. */
const ADDING = ['tests/pack/agent-guide.ts']

test('a test of a guide gets the blocks from walkGuide or samplesOf, and adds no command', () => {
  const paths = globSync('{tests,packages/*/tests,examples/*/tests}/**/*.ts', { cwd: ROOT })
  const sources = paths.map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }))
  const runners = new Set(blocks.flatMap(testsOf))
  const own = sources.filter(
    ({ path, text }) => runners.has(path) && !/\b(?:walkGuides?|samplesOf|runSample)\(/.test(text),
  )
  assert.deepEqual(
    own.map(({ path }) => path),
    [],
  )
  const parsing = sources.filter(
    ({ path, text }) =>
      /docs\/guides/.test(text) && /[`']{3}\w*\\n.*\(/.test(text) && !READERS.includes(path),
  )
  assert.deepEqual(
    parsing.map(({ path }) => path),
    [],
  )
  const adding = sources.filter(
    ({ path, text }) => runners.has(path) && /\bterminal\.add\(/.test(text),
  )
  assert.deepEqual(
    adding.map(({ path }) => path),
    ADDING,
  )
})
