import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { freePort } from '../../packages/store/tests/servers/free-port.ts'
import { ROOT } from '../../scripts/site/documents.ts'
import { walkGuide } from '../samples/guide.ts'
import { Terminal } from '../samples/terminal.ts'

test('two-people.md sends a transfer once two people have approved, and proves it', async () => {
  // Below the repository, so that programs find its packages, whose sources they run.
  const folder = mkdtempSync(join(ROOT, 'node_modules/.guides-'))
  const port = String(await freePort())
  const env = {
    ...process.env,
    BONDED_PORT: port,
    NODE_OPTIONS: '--conditions=@bonded/source',
    PATH: `${join(process.execPath, '..')}:${process.env['PATH']}`,
  }
  const guide = {
    path: 'docs/guides/two-people.md',
    test: import.meta.filename,
    values: { 'http://localhost:8787': `http://localhost:${port}` },
  }
  try {
    await walkGuide(guide, async (next) => {
      await using terminal = new Terminal({ folder, env })
      await terminal.start(next()).printed(/sandbox runs at/)
      await terminal.type(next())
      terminal.write('phone.mjs', next())
      terminal.write('enroll.mjs', next())
      await terminal.type(next())
      terminal.write('ask.mjs', next())
      terminal.write('send.mjs', next())
      const printed = await terminal.type(next())
      assert.match(printed, /2 of 2 people must approve[^]*not sent: too_few_approvals/)
      assert.match(printed, /^sent \{ to: 'DE02 1203 0000 0000 2020 51', cents: 1250000 \}$/m)
      assert.match(await terminal.type(next()), /2 of 2 people had to approve, and 2 did\./)
    })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
