import assert from 'node:assert/strict'
import { globSync, readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { readVectors, VECTORS } from '../../kit/src/verifier.ts'
import { PRODUCT } from './product-verifier.ts'

const KIT = resolve(import.meta.dirname, '../../kit')
const PROTOCOL = resolve(import.meta.dirname, '../../../docs/reference/protocol.md')

for (const name of VECTORS)
  test(`the product gives the answer of every vector of ${name}`, async () => {
    const { shared, tests } = readVectors(name)
    const isValid = PRODUCT[name]
    for (const { id, valid, comment, input } of tests)
      assert.equal(await isValid?.({ ...shared, ...input }), valid, `${id}: ${comment}`)
    const answers = new Set(tests.map(({ valid }) => valid))
    assert.deepEqual(answers, new Set([true, false]), 'the file has both kinds')
  })

test('the kit knows each of its files of vectors', () => {
  const files = readdirSync(`${KIT}/vectors`).map((file) => file.replace('.json', ''))
  assert.deepEqual(files.toSorted(), VECTORS.toSorted())
})

test('every payload of the protocol page has vectors', () => {
  const page = readFileSync(PROTOCOL, 'utf8')
  const typs = new Set([...page.matchAll(/"typ": ?"([^"]+)"/g)].map(([, typ = '']) => typ))
  assert.ok(typs.size > 8, 'the payloads were found')
  const held = new Set(readVectors('payloads').tests.map(({ input }) => String(input['typ'])))
  assert.deepEqual(held, typs)
})

test('the kit imports Node and its own files only', () => {
  const files = globSync('**/*.ts', { cwd: KIT, exclude: ['examples'] })
  assert.ok(files.length > 8, 'the files were found')
  const foreign = files.flatMap((file) =>
    [...readFileSync(`${KIT}/${file}`, 'utf8').matchAll(/from '([^']+)'/g)]
      .map(([, name = '']) => name)
      .filter((name) => !name.startsWith('node:'))
      .filter((name) => !resolve(KIT, file, '..', name).startsWith(`${KIT}/`)),
  )
  assert.deepEqual(foreign, [])
})
