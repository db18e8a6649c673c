import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { freePorts } from './npm-start.ts'
import { walkGuide } from './samples/guide.ts'
import { Terminal } from './samples/terminal.ts'

const ROOT = resolve(import.meta.dirname, '..')

test('the commands of the quickstart end in a session that the gate accepts', {
  timeout: 240_000,
}, async () => {
  const [port] = await freePorts()
  const folder = mkdtempSync(join(tmpdir(), 'bonded-quickstart-'))
  const env = { ...process.env, BONDED_PORT: String(port), BONDED_DATA_DIR: join(folder, 'data') }
  const guide = { path: 'docs/guides/quickstart.md', test: import.meta.filename }
  try {
    await walkGuide({ ...guide, values: { 8787: String(port) } }, async (next) => {
      await using terminal = new Terminal({ folder: ROOT, env })
      await terminal.start(next()).printed(/ready/)
      assert.match(await terminal.type(next()), /^pk_/m)
      assert.match(await terminal.type(next()), /^http/m)
      assert.match(await terminal.type(next()), /Approved\. The session is bonded\./)
      assert.match(await terminal.type(next()), /"state":"bonded"/)
      assert.match(await terminal.type(next()), /^completed application stored$/m)
      assert.match(await terminal.type(next()), / {2}completed/)
    })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
