import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { repositoryFiles } from '../scripts/repository-files.ts'
import { RULED_OUT, textsOf } from './wording/wording.ts'

const ROOT = resolve(import.meta.dirname, '..')
const files = repositoryFiles().filter((path) => /\.(md|ts|js|mjs)$/.test(path))

const found = files.flatMap((path) =>
  textsOf(path, readFileSync(join(ROOT, path), 'utf8')).flatMap(({ line, text }) =>
    [...text.matchAll(RULED_OUT)].map((match) => ({ path, line, word: match[0], text })),
  ),
)

test('documents, comments and test names contain no word of the list', () => {
  const reported = found.map(
    ({ path, line, word, text }) => `${path}:${line} "${word}" in: ${text}`,
  )
  assert.deepEqual(reported, [])
})

/** Rows of tables and examples are one line each, and a link cannot be wrapped. */
const UNWRAPPED = /^\s*\* \||@example|https?:/

test('no line of a comment is wider than 100 columns', () => {
  const wide = files
    .filter((path) => !path.endsWith('.md'))
    .flatMap((path) =>
      readFileSync(join(ROOT, path), 'utf8')
        .split('\n')
        .flatMap((line, index) =>
          line.length > 100 && /^\s*(?:\/[/*]|\*)/.test(line) && !UNWRAPPED.test(line)
            ? [`${path}:${index + 1}`]
            : [],
        ),
    )
  assert.deepEqual(wide, [])
})

test('the scan reads comments, test names and prose, but no code', () => {
  const source = `/**\n * Told once.\n */\ntest('hears it', () => {})\nconst a = 'nobody' // vouches\n`
  assert.deepEqual(
    textsOf('a.test.ts', source).map(({ line, text }) => `${line} ${text}`),
    ['2 Told once.', '5 vouches', '4 hears it'],
  )
  const page = 'Nobody reads `nobody`.\n\n```\nnobody\n```\nheard\n'
  assert.deepEqual(
    textsOf('a.md', page).map(({ line, text }) => `${line} ${text}`),
    ['1 Nobody reads .', '6 heard'],
  )
  const changes = '# Changelog\n## Unreleased\nheard\n## 0.1\ntold\n'
  assert.deepEqual(
    textsOf('CHANGELOG.md', changes).map(({ text }) => text),
    ['# Changelog', '## Unreleased', 'heard'],
  )
})
