import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { appendReceipts } from '../../../core/src/operations/receipt/receipt-log.ts'
import { harness, PUBLIC_ORIGIN, ROOT_KEY } from '../../../../tests/harness/harness.ts'
import { machine } from '../../../../tests/harness/process.ts'
import { walkGuide } from '../../../../tests/samples/guide.ts'
import { Terminal } from '../../../../tests/samples/terminal.ts'

/** Below the repository, so that `npx bonded` finds the command. */
const PLACE = resolve(import.meta.dirname, '../../../../node_modules')

/** A service, commands on its database, and a folder of the auditor. */
async function scene() {
  const h = await harness()
  // Commands have the time of the machine.
  h.clock.set(Date.now() - h.clock.now())
  const key = Buffer.from(ROOT_KEY.bytes).toString('base64url')
  const env = {
    BONDED_ROOT_KEYS: `${ROOT_KEY.id}:${key}`,
    BONDED_PUBLIC_ORIGIN: PUBLIC_ORIGIN,
    BONDED_DATA_DIR: h.folder,
  }
  const folder = mkdtempSync(join(PLACE, '.bonded-auditor-'))
  return {
    h,
    env,
    folder,
    commands: machine({ folder: h.folder, env }),
    async [Symbol.asyncDispose]() {
      rmSync(folder, { recursive: true })
      await h[Symbol.asyncDispose]()
    },
  }
}

test('the auditor finds what operators did to a phone, and verifies it, by the commands of the page alone', {
  timeout: 120_000,
}, async () => {
  await using s = await scene()
  const { h, commands } = s
  const { session, phone } = await h.reach('bonded')
  const { subject_ref } = (await h.get(session)).body
  const since = new Date(Date.now() - 1_000).toISOString()
  commands.json('session', 'show', session.id)
  commands.json('device', 'block', phone.device_id, '--reason', 'T-42')
  commands.json('session', 'list')
  await h.reach('bonded')
  while ((await appendReceipts(h.service)).done > 0);

  const guide = {
    path: 'docs/guides/auditor.md',
    test: import.meta.filename,
    values: {
      'https://bond.example': `http://127.0.0.1:${h.running.port}`,
      'ten_…': h.shop.tenant.id,
      'subject_ref_…': subject_ref as string,
      '2026-03-01T00:00:00Z': since,
      '2026-04-01T00:00:00Z': new Date(Date.now() + 60_000).toISOString(),
    },
  }
  await walkGuide(guide, async (next) => {
    const place = { folder: s.folder, env: { ...process.env, ...s.env } }
    await using terminal = new Terminal(place)
    await terminal.type(next())
    const entries = (await terminal.type(next())).split('\n').slice(1, -1)
    assert.match(entries[0] ?? '', /session show +success/)
    assert.match(entries[1] ?? '', /device block +success +T-42$/)
    assert.match(entries[2] ?? '', /audit list +success/)
    assert.equal(entries.length, 3)
    assert.match(await terminal.type(next()), /session list +success/)
    const verify = next()
    assert.match(
      await terminal.type(verify),
      /^3 entries are covered by the log of receipts bond\.example\/receipts\/log, of 2 leaves\.\n2 wait for the next checkpoint\.\nThe log continues your checkpoint\.\n$/,
    )

    using database = new DatabaseSync(h.databaseFile)
    database.exec(`update audit_entry set actor = 'mallory' where number = 2`)
    await assert.rejects(
      terminal.type(verify),
      /The audit log was changed:\n +Entry 3 does not continue entry 2\./,
    )
  })
})

test('exports JSON lines, and appends to a file what it lacks', { timeout: 60_000 }, async () => {
  await using s = await scene()
  const { commands } = s
  const { tenant } = s.h.shop
  const file = join(s.folder, 'audit.jsonl')
  commands.json('tenant', 'update', tenant.id, '--name', 'One')
  assert.equal(commands.run('audit', 'export', '--file', file).status, 0)
  commands.json('tenant', 'update', tenant.id, '--name', 'Two')
  assert.equal(commands.run('audit', 'export', '--file', file).status, 0)
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
  const events = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
  assert.deepEqual(
    events.map(({ message, entity_result }) => [message, entity_result]),
    ['One', 'Two'].map((name) => [
      'tenant update',
      { type: 'tenant', uid: tenant.id, data: { 'tenant.name': name } },
    ]),
  )
  const { stdout } = commands.run('audit', 'export', '--after', '1', '--format', 'jsonl')
  assert.equal(stdout, `${lines[1]}\n`)

  // As after a restore, which has lost the entries that the file ends with.
  for (const lost of [{ sequence: 3 }, { sequence: 2, previous: 'x' }]) {
    const { previous, ...metadata } = { previous: '', ...lost }
    writeFileSync(file, `${JSON.stringify({ metadata, unmapped: { previous } })}\n`)
    const { status, stderr } = commands.run('audit', 'export', '--file', file)
    assert.equal(status, 1)
    assert.match(stderr, /has entries that the database has lost.*Export into a new file/s)
  }
})
