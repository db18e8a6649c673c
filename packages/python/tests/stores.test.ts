import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { approvalStoreSuite } from '../../integrator/src/approval/approval-store-suite.ts'
import { findPython } from './python.ts'
import { StoreProcess } from './served-store.ts'

/** The suite of the stores in TypeScript, over the stores in Python. */
const found = findPython('cryptography', 'httpx')
const skip = 'skip' in found && found.skip
const folder = mkdtempSync(join(tmpdir(), 'bonded-stores-'))
let stores: StoreProcess | undefined
before(() => {
  if ('python' in found) stores = new StoreProcess(found.python)
})
after(async () => {
  await stores?.[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

let files = 0
const PATHS: Readonly<Record<string, () => readonly string[]>> = {
  memory: () => [],
  sqlite: () => [join(folder, `${files++}.sqlite3`)],
}

for (const [kind, path] of Object.entries(PATHS)) {
  const suite = approvalStoreSuite(() => {
    assert.ok(stores)
    return stores.open(kind, ...path())
  })
  for (const { name, run } of suite) test(`Python on ${kind}: ${name}`, { skip }, run)
}
