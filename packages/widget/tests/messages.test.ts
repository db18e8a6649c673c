import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { en } from '../src/messages/messages.ts'

const FOLDER = new URL('../src/messages/', import.meta.url)
/** The texts of the browser's proof, which are loaded with its code. */
const PROOF_FOLDER = new URL('../src/browser-proof/messages/', import.meta.url)
/** The official languages of the European Union. */
const OF_THE_UNION =
  'bg cs da de el en es et fi fr ga hr hu it lt lv mt nl pl pt ro sk sl sv'.split(' ')
const OTHERS = 'ar fa he hi id is ja ko nb sr th tr uk ur vi zh'.split(' ')

/** Each text by its path, such as `screens.waiting.title`. */
function texts(group: object, path = ''): Map<string, unknown> {
  return new Map(
    Object.entries(group).flatMap(([key, value]: [string, unknown]) =>
      typeof value === 'object' && value !== null
        ? [...texts(value, `${path}${key}.`)]
        : [[`${path}${key}`, value] as const],
    ),
  )
}
const placeholders = (text: unknown) => String(text).match(/\{\w+\}/g) ?? []
const widget = texts(en)
const englishProof = texts(JSON.parse(readFileSync(new URL('en.json', PROOF_FOLDER), 'utf8')))
const tagsIn = (folder: URL) =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .map((name) => name.slice(0, -'.json'.length))
const tags = tagsIn(FOLDER)

test('the widget has the 24 languages of the European Union and 16 others', () => {
  assert.deepEqual(tags.toSorted(), [...OF_THE_UNION, ...OTHERS].toSorted())
  assert.deepEqual(tagsIn(PROOF_FOLDER), tags)
})

for (const [folder, english] of [
  [FOLDER, widget],
  [PROOF_FOLDER, englishProof],
] as const)
  for (const tag of tags)
    test(`${tag} has every text of ${folder === FOLDER ? 'the widget' : 'the proof'}, with the placeholders of English`, () => {
      const own = texts(JSON.parse(readFileSync(new URL(`${tag}.json`, folder), 'utf8')))
      assert.deepEqual([...own.keys()].toSorted(), [...english.keys()].toSorted())
      for (const [path, text] of own) {
        assert.deepEqual(placeholders(text), placeholders(english.get(path)), path)
        assert.match(String(text), /^\S(?:.*\S)?$/u, path)
        if (tag !== 'en' && path.endsWith('.body')) assert.notEqual(text, english.get(path), path)
      }
    })
