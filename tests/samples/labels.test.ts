import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { parseSync } from 'oxc-parser'
import { documents, ROOT } from '../../scripts/site/documents.ts'
import { type Sample, samplesOf, testsOf } from './samples.ts'

const PROGRAMS = ['ts', 'tsx', 'js', 'sh', 'python']
const samples = documents().flatMap(samplesOf)
const where = ({ path, line }: Sample) => `${path}:${line}`

test('every program in a document is run by a test, or says why not', () => {
  assert.ok(samples.filter(({ language }) => PROGRAMS.includes(language)).length > 50)
  const unlabeled = samples.filter(
    (sample) =>
      PROGRAMS.includes(sample.language) &&
      testsOf(sample).length === 0 &&
      !/^not run: .{10,}/.test(sample.label),
  )
  assert.deepEqual(
    unlabeled.map(where),
    [],
    'write <!-- run by tests/FILE.test.ts --> or <!-- not run: REASON --> on the line above',
  )
})

test('a test that is named above a sample exists, and reads the document', () => {
  const wrong = samples.filter((sample) =>
    testsOf(sample).some((file) => {
      const text = existsSync(join(ROOT, file)) ? readFileSync(join(ROOT, file), 'utf8') : ''
      // It fails if one of its blocks did not run.
      return !text.includes('walkGuides(') && !text.includes(basename(sample.path))
    }),
  )
  assert.deepEqual(wrong.map(where), [])
})

test('every path in a label exists', () => {
  const paths = samples.flatMap((sample) =>
    [...sample.label.matchAll(/\b(?:tests|packages|examples|proofs)\/[\w./-]*\w/g)].map(
      ([path]) => ({
        sample,
        path,
      }),
    ),
  )
  assert.ok(paths.length > 30, 'the paths were found')
  const missing = paths.filter(({ path }) => !existsSync(join(ROOT, path)))
  assert.deepEqual(
    missing.map(({ sample, path }) => `${where(sample)}: ${path}`),
    [],
  )
})

test('every sample in JSON is valid', () => {
  const json = samples.filter(({ language }) => language === 'json')
  assert.ok(json.length > 1)
  for (const sample of json) assert.doesNotThrow(() => JSON.parse(sample.code), where(sample))
})

test('every program in a document has valid syntax', () => {
  const wrong = samples.flatMap((sample) => {
    const message = syntaxError(sample)
    return message === undefined ? [] : [`${where(sample)}: ${message}`]
  })
  assert.deepEqual(wrong, [])
})

function syntaxError({ language, code }: Sample): string | undefined {
  if (language === 'sh') {
    const { stderr } = spawnSync('bash', ['-n'], { input: code, encoding: 'utf8' })
    return stderr === '' ? undefined : stderr
  }
  if (!['ts', 'tsx', 'js'].includes(language)) return undefined
  return parseSync(`sample.${language}`, code, { sourceType: 'module' }).errors[0]?.message
}

test('every name that a sample imports from a package of this repository exists', async () => {
  const imports = samples.flatMap((sample) =>
    [...sample.code.matchAll(/^import (?:\{([^}']+)\} from )?'(@bonded\/[\w/-]+)'$/gm)].map(
      ([, names = '', module = '']) => ({
        sample,
        module,
        names: names.split(',').flatMap((name) => name.match(/\w+/) ?? []),
      }),
    ),
  )
  assert.ok(imports.length > 10, 'the imports were found')
  const missing: string[] = []
  for (const { sample, module, names } of imports) {
    // These two need a page, and only browsers load them.
    if (/widget\/(?:element|react)$/.test(module)) continue
    const exported = (await import(module)) as Record<string, unknown>
    for (const name of names)
      if (!(name in exported)) missing.push(`${where(sample)}: ${name} of ${module}`)
  }
  assert.deepEqual(missing, [])
})
