import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { outputOf, statedOutput } from './harness/examples.ts'

const PACKAGE = join(import.meta.dirname, '..')
const readme = readFileSync(join(PACKAGE, 'README.md'), 'utf8')
const sections = [...readme.matchAll(/^## (.+)\n((?:(?!^## )[\s\S])*)/gm)].map(
  ([, title = '', text = '']) => ({
    title,
    examples: [...text.matchAll(/```js\n([\s\S]*?)```/g)].map(([, code = '']) => code),
  }),
)

/** The entries whose functions are verbs. The others export readers, samples, or nothing. */
const ENTRIES = ['index', 'revocations/index', 'fido-metadata/index']
/** The text of each docstring, by the name of the function or class below it. */
const docstrings = new Map(
  globSync('src/**/*.ts', { cwd: PACKAGE }).flatMap((file) =>
    [
      ...readFileSync(join(PACKAGE, file), 'utf8').matchAll(
        /(\/\*\*(?:(?!\*\/)[\s\S])*\*\/)\nexport (?:function|class) (\w+)/g,
      ),
    ].map(([, comment = '', name = '']): [string, string] => [name, comment]),
  ),
)

const verbs = new Set<string>()
for (const entry of ENTRIES) {
  const exported = (await import(join(PACKAGE, `src/${entry}.ts`))) as Record<string, unknown>
  for (const [name, value] of Object.entries(exported))
    if (typeof value === 'function') verbs.add(name)
}

test('the entries export the verbs of each format', () => {
  assert.ok(verbs.size >= 20)
  assert.ok(verbs.has('verifyPassport') && verbs.has('googleRevocations'))
})

for (const verb of verbs)
  test(`the example of ${verb} runs, and prints what its comments say`, async () => {
    const [, example = ''] = docstrings.get(verb)?.split('@example\n') ?? []
    const code = example.replaceAll(/^ \*(?:\/$| ?)/gm, '')
    const stated = statedOutput(code)
    assert.ok(code.includes(verb) && stated.length > 0, `${verb} has no @example`)
    assert.deepEqual(await outputOf(code), stated)
  })

for (const { title, examples } of sections)
  for (const [index, code] of examples.entries())
    test(`example ${index + 1} of "${title}" in the README runs, and prints what its comments say`, async () => {
      const stated = statedOutput(code)
      assert.ok(stated.length > 0)
      assert.deepEqual(await outputOf(code), stated)
    })

test('the README has an example for each verb', () => {
  const examples = sections.flatMap((section) => section.examples).join('\n')
  for (const verb of verbs)
    assert.match(examples, new RegExp(`\\b${verb}\\(`), `no example calls ${verb}`)
})
