import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import * as integrator from '@bonded/integrator'
import * as testing from '@bonded/integrator/testing'
import * as witnesses from '@bonded/integrator/witnesses'
import * as phone from '@bonded/phone'
import { parseSync } from 'oxc-parser'
import { ROOT } from '../../scripts/site/documents.ts'
import { LIBRARIES } from '../../scripts/site/library-pages.ts'

/** The examples of the library reference. packages/attestation runs its own. */
const examples = LIBRARIES.filter((name) => name !== 'attestation').flatMap((name) =>
  globSync(`packages/${name}/src/**/*.ts`, { cwd: ROOT }).flatMap((file) =>
    [...readFileSync(join(ROOT, file), 'utf8').matchAll(/^ *\/\*\*[\s\S]*?\*\//gm)].flatMap(
      ([comment]) => {
        const text = comment.replaceAll(/^ *\*\/?|\/\*\*|\*\/$/gm, '')
        return text
          .split(/^ *@/m)
          .filter((tag) => tag.startsWith('example'))
          .map((tag) => ({ file, code: tag.replace('example', '').replaceAll(/^ /gm, '').trim() }))
      },
    ),
  ),
)

test('the example of every docstring has valid syntax', () => {
  assert.ok(examples.length > 30, 'the examples were found')
  const wrong = examples.flatMap(({ file, code }) => {
    const { errors } = parseSync(code.includes('<') ? 'a.tsx' : 'a.ts', code, {
      sourceType: 'module',
    })
    // An object alone is the argument of a call.
    const isObject = parseSync('a.ts', `(${code})`, { sourceType: 'module' }).errors.length === 0
    return errors.length === 0 || isObject ? [] : [`${file}: ${errors[0]?.message}: ${code}`]
  })
  assert.deepEqual(wrong, [])
})

test('an example of a docstring that states its result has it', async () => {
  const names: Record<string, unknown> = { ...phone, ...integrator, ...testing, ...witnesses }
  let ran = 0
  for (const { file, code } of examples) {
    const [, statements = '', expression = '', stated = ''] =
      /^([\s\S]*?)(?:^;)?([^\n]+) \/\/ ((?:'.*'|true|false|\d+))$/m.exec(code) ?? []
    // A stated time is that of the example's author.
    if (stated === '' || /^\d{10,}$/.test(stated)) continue
    const own = Object.keys(names).filter((name) => code.includes(name))
    const source = `export default async ({ ${[...own, 'jwks'].join(', ')} }) => { ${statements}\nreturn ${expression} }`
    const program = (await import(
      `data:text/javascript,${encodeURIComponent(source.replaceAll('whsec_…', 'whsec_AAAA'))}`
    )) as { default: (given: object) => Promise<unknown> }
    try {
      const result = await program.default({ ...names, jwks: { keys: [] } })
      assert.equal(String(result), stated.replaceAll(/^'|'$/g, ''), `${file}: ${code}`)
      ran += 1
    } catch (error) {
      // It has names of the reader's program.
      if (!(error instanceof ReferenceError)) throw error
    }
  }
  assert.ok(ran > 8, `${ran} examples ran`)
})
