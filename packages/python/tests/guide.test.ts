import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import type { InboxItem } from '@bonded/contract'
import { inboxHarness } from '../../../tests/harness/inbox.ts'
import { testSigner } from '../../../tests/harness/test-signer.ts'
import { walkGuide } from '../../../tests/samples/guide.ts'
import { findPython, runPython } from './python.ts'

const SOURCES = resolve(import.meta.dirname, '../src')
const GUIDE = { path: 'docs/guides/python.md', test: import.meta.filename }
const found = findPython('cryptography', 'httpx')

test('Python: the programs of python.md ask the user, run what was approved, and verify its receipt', {
  skip: 'skip' in found && found.skip,
}, async (t) => {
  assert.ok('python' in found)
  const { python } = found
  const folder = mkdtempSync(join(tmpdir(), 'bonded-guide-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  await using parts = await inboxHarness({
    receiptSigner: testSigner(),
    workflows: [
      { name: 'page', actions: ['act'] },
      { name: 'agent_payments', actions: ['transfer'], delivery: 'inbox' },
    ],
  })
  const { h, phone } = parts
  await walkGuide(GUIDE, async (next) => {
    const program = join(folder, 'transfer.py')
    writeFileSync(program, next()())
    const child = spawn(python, ['-B', program], {
      env: {
        ...process.env,
        PYTHONPATH: SOURCES,
        PYTHONUTF8: '1',
        BONDED_ORIGIN: `http://127.0.0.1:${h.running.port}`,
        BONDED_SERVER_CREDENTIAL: h.shop.server,
        SUBJECT_REF: parts.subjectRef,
        APPROVALS: join(folder, 'approvals.sqlite3'),
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    const first = String((await lines.next()).value)
    assert.match(first, /^Approve at .+\/inbox$/)
    const { items } = (await parts.open()).body as { items: readonly InboxItem[] }
    const [item] = items
    assert.ok(item)
    const listed = { id: item.session_id, nonce: item.nonce }
    assert.equal((await h.claim(phone, listed)).status, 200)
    const view = await h.view(phone, listed)
    assert.equal(view.context?.requester?.name, 'Invoice agent')
    assert.equal((await h.attest(phone, view)).status, 200)
    assert.equal((await lines.next()).value, `sent 125000 cents as ${listed.id}`)
    assert.equal((await lines.next()).done, true)
    assert.equal((await h.get(listed)).body.state, 'completed')

    const path = `/sessions/${listed.id}/receipt`
    const { receipt } = (await h.api('GET', path, { token: h.shop.server })).body
    const jwks = JSON.parse((await h.call('GET', '/.well-known/jwks.json')).text) as object
    const call = `import json, sys\ngiven = json.load(sys.stdin)\nprint(text_of(*given), receive({}, b"", "whsec_AAAA"))\n`
    const input = (tenant: string) => JSON.stringify([receipt, jwks, tenant])
    const verifier = join(folder, 'verify.py')
    writeFileSync(verifier, `${next()()}\n${call}`)
    const ours = runPython(python, [verifier], {}, input(h.shop.tenant.id))
    assert.equal(ours.printed, `${view.context?.text} 400\n`)
    assert.equal(runPython(python, [verifier], {}, input('ten_other')).printed, 'None 400\n')
  })
})
