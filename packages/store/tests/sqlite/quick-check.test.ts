import assert from 'node:assert/strict'
import { closeSync, mkdtempSync, openSync, rmSync, statSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import { StoreError } from '../../../core/src/ports/store.ts'
import { checkBeforeServing } from '../../src/sqlite/quick-check.ts'

const PAGE_BYTES = 4_096

const folder = mkdtempSync(join(tmpdir(), 'bonded-check-'))
const file = join(folder, 'bonded.db')
after(() => rmSync(folder, { recursive: true }))

function damage(): void {
  const descriptor = openSync(file, 'r+')
  for (let index = PAGE_BYTES; index < statSync(file).size; index += PAGE_BYTES)
    writeSync(descriptor, Buffer.alloc(512, 0xa5), 0, 512, index)
  closeSync(descriptor)
}

test('a start checks a small file, and a large one after an unclean end only', () => {
  checkBeforeServing(file)
  const database = new DatabaseSync(file)
  database.exec('pragma journal_mode = wal; create table t (a text); insert into t values (1)')
  database.exec('pragma wal_checkpoint(passive)')
  damage()
  assert.throws(
    () => checkBeforeServing(file, 0),
    StoreError,
    'the log has content until the close',
  )
  database.close()
  checkBeforeServing(file, 0)
  assert.throws(() => checkBeforeServing(file), StoreError, 'a small file')
  // A check leaves an empty log.
  checkBeforeServing(file, 0)
})
