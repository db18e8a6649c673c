import assert from 'node:assert/strict'
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import { AuditFile } from '../../src/audit/audit-file.ts'

let folder = ''
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'bonded-audit-'))))
afterEach(() => rmSync(folder, { recursive: true }))

const line = (sequence: number) =>
  JSON.stringify({ metadata: { sequence }, unmapped: { previous: '' } })
const open = (maxBytes = 1_000) => {
  const file = join(folder, 'audit.jsonl')
  return { file, sink: new AuditFile(file, { maxBytes, keep: 2 }) }
}

test('continues after the last entry of the file', () => {
  const { file, sink } = open()
  assert.equal(sink.last(), undefined)
  sink.append([line(1), line(2)])
  assert.equal(open().sink.last()?.number, 2)
  sink.append([line(3)])
  assert.equal(readFileSync(file, 'utf8'), `${line(1)}\n${line(2)}\n${line(3)}\n`)
})

test('cuts off a line that a crash has left unfinished', () => {
  const { file, sink } = open()
  sink.append([line(1)])
  appendFileSync(file, line(2).slice(0, 9))
  assert.equal(sink.last()?.number, 1)
  assert.equal(readFileSync(file, 'utf8'), `${line(1)}\n`)
  appendFileSync(file, line(2).slice(0, 9))
  rmSync(file)
  appendFileSync(file, line(2).slice(0, 9))
  assert.equal(sink.last(), undefined)
})

test('renames a full file, keeps as many as it should, and continues after the renamed one', () => {
  const { file, sink } = open(line(1).length + 2)
  for (const number of [1, 2, 3, 4]) sink.append([line(number)])
  const contents = [file, `${file}.1`, `${file}.2`].map((name) => readFileSync(name, 'utf8').trim())
  assert.deepEqual(contents, [line(4), line(3), line(2)])
  assert.ok(!existsSync(`${file}.3`))
  rmSync(file)
  assert.equal(sink.last()?.number, 3)
})
