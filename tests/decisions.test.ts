import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'

const FOLDER = resolve(import.meta.dirname, '../docs/decisions')
const INDEX = readFileSync(join(FOLDER, 'README.md'), 'utf8')

/** A record gives its reason, or the alternatives and the consequences apart. */
const FORMS = [
  ['Context', 'Decision', 'Reason'],
  ['Context', 'Decision', 'Alternatives', 'Consequences'],
]

interface DecisionRecord {
  readonly number: number
  readonly file: string
  readonly title: string
  readonly headings: readonly (string | undefined)[]
  /** What it says above its context: which decisions changed it, and which it changes. */
  readonly note: string
}

const records = readdirSync(FOLDER)
  .filter((file) => /^\d{4}-.+\.md$/.test(file))
  .toSorted()
  .map((file): DecisionRecord => {
    const text = readFileSync(join(FOLDER, file), 'utf8')
    const [, number = '', title = ''] = /^# (\d+)\. (.+)$/m.exec(text) ?? []
    const [note = ''] = text.slice(text.indexOf('\n')).split('## Context')
    const headings = [...text.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading)
    return { number: Number(number), file, title, headings, note }
  })

/** The decisions that changed a record, by its own note. */
function changedBy({ note }: DecisionRecord): readonly number[] {
  return [...note.matchAll(/\bby \[decision (\d+)\]/g)].map(([, number]) => Number(number))
}

test('every decision record has the sections of a form and its own number', () => {
  assert.ok(records.length > 20, 'the records were found')
  for (const { file, number, headings } of records) {
    assert.equal(number, Number(file.slice(0, 4)), file)
    assert.ok(
      FORMS.some((form) => isDeepStrictEqual(form, headings)),
      file,
    )
  }
  assert.equal(new Set(records.map(({ number }) => number)).size, records.length)
})

test('the index lists every decision in one room, in order', () => {
  const listed = INDEX.split(/^## /m)
    .slice(1)
    .flatMap((room) => {
      const rows = [...room.matchAll(/^\| (\d+) \|.*$/gm)]
      const numbers = rows.map(([, number]) => Number(number))
      assert.deepEqual(
        numbers,
        numbers.toSorted((a, b) => a - b),
        room,
      )
      return rows.map(([row = '']) => row)
    })
  const expected = records.map(({ number, title, file }) => `| ${number} | [${title}](${file}) |`)
  assert.deepEqual(listed.toSorted(), expected.toSorted())
})

test('a decision that changes another is named by it, and the other way round', () => {
  const changes = new Set(
    records.flatMap((record) =>
      [...record.note.matchAll(/\[decision (\d+)\]/g)]
        .map(([, other]) => Number(other))
        .filter((other) => !changedBy(record).includes(other))
        .map((other) => `${record.number} changes ${other}`),
    ),
  )
  const changed = new Set(
    records.flatMap((record) => changedBy(record).map((by) => `${by} changes ${record.number}`)),
  )
  assert.ok(changed.size > 3, 'the notes were found')
  assert.deepEqual([...changes].toSorted(), [...changed].toSorted())
})
