import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'

const FOLDER = resolve(import.meta.dirname, '../docs/decisions')
const INDEX = readFileSync(join(FOLDER, 'README.md'), 'utf8')

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

function statusOf(record: DecisionRecord): string {
  const by = changedBy(record).join(', ')
  return by === '' ? 'accepted' : `amended by ${by}`
}

test('every decision record has the four sections and its own number', () => {
  assert.ok(records.length > 20, 'the records were found')
  for (const { file, number, headings } of records) {
    assert.equal(number, Number(file.slice(0, 4)), file)
    assert.deepEqual(headings, ['Context', 'Decision', 'Alternatives', 'Consequences'], file)
  }
  assert.equal(new Set(records.map(({ number }) => number)).size, records.length)
})

test('the index lists every decision below one topic, in order, with its status', () => {
  const listed = INDEX.split(/^## /m)
    .slice(1)
    .flatMap((topic) => {
      const rows = [...topic.matchAll(/^\| (\d+) \|.*$/gm)]
      const numbers = rows.map(([, number]) => Number(number))
      assert.deepEqual(
        numbers,
        numbers.toSorted((a, b) => a - b),
        topic,
      )
      return rows.map(([row = '']) => row)
    })
  const expected = records.map(
    (record) => `| ${record.number} | [${record.title}](${record.file}) | ${statusOf(record)} |`,
  )
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
