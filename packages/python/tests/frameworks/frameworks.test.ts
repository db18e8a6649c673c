import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { after, test } from 'node:test'
import type { InboxItem } from '@bonded/contract'
import { inboxHarness } from '../../../../tests/harness/inbox.ts'
import { findPython, runPython } from '../python.ts'

const EXAMPLES = resolve(import.meta.dirname, '../../../../examples/agents')
const SOURCES = resolve(import.meta.dirname, '../../src')
const folder = mkdtempSync(join(tmpdir(), 'bonded-frameworks-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const found = findPython('pip')
const missing = 'skip' in found ? found.skip : install(found.python)
const python = 'python' in found ? found.python : ''
const PYTHONPATH = [SOURCES, resolve(import.meta.dirname, '..'), folder].join(delimiter)

/** Installs the frameworks for this process alone. Returns why they cannot be installed here. */
function install(program: string): string | false {
  runPython(program, [join(import.meta.dirname, 'stand_in.py'), folder])
  const packages = ['fastmcp>=4', 'langgraph>=1', 'cryptography', 'httpx']
  const options = ['--quiet', '--no-compile', '--target', folder, '--find-links', folder]
  // Where no index answers, pip would retry for a minute.
  const env = { PIP_RETRIES: '0', PIP_DISABLE_PIP_VERSION_CHECK: '1' }
  const args = ['-m', 'pip', 'install', ...options, ...packages]
  const { status, printed } = runPython(program, args, env)
  if (status === 0) return false
  assert.match(printed, /No matching distribution found/, printed)
  console.warn('LOUD: no registry has fastmcp and langgraph')
  return 'no registry has fastmcp and langgraph'
}

for (const file of ['test_fastmcp.py', 'test_langgraph.py'])
  test(`Python: ${file} passes`, { skip: missing }, () => {
    const program = ['-m', 'unittest', `frameworks/${file}`]
    const { status, printed } = runPython(python, program, { PYTHONPATH })
    assert.equal(status, 0, printed)
    assert.match(printed, /Ran [1-9]\d* tests? in [^]*\nOK\n/, printed)
  })

for (const [name, answers] of [
  [
    'fastmcp',
    [
      /^{"status": "approval_required", "approval_id": "sess_\w+", "inbox_url": ".+\/inbox"}$/,
      /^{"status": "approved", /,
      /^{"status": "not_approved", .*context_mismatch/,
      /^sent 125000 cents as sess_\w+$/,
      /^{"status": "already_executed", /,
    ],
  ],
  [
    'langgraph',
    [
      /^{"status": "approval_required", "approval_id": "sess_\w+", "inbox_url": ".+\/inbox"}$/,
      /^{"status": "approval_required", /,
      /^sent 125000 cents as sess_\w+$/,
      /^Done\.$/,
    ],
  ],
] as const)
  test(`a scripted model of ${name} sends once what the phone has approved`, {
    skip: missing,
  }, async (t) => {
    await using parts = await inboxHarness({
      workflows: [
        { name: 'page', actions: ['act'] },
        { name: 'agent_payments', actions: ['transfer'], delivery: 'inbox' },
      ],
    })
    const { h, phone } = parts
    const agent = join(import.meta.dirname, `agent_${name}.py`)
    const child = spawn(python, ['-B', agent, join(EXAMPLES, `transfer_${name}.py`)], {
      env: {
        ...process.env,
        PYTHONPATH,
        PYTHONUTF8: '1',
        BONDED_ORIGIN: `http://127.0.0.1:${h.running.port}`,
        BONDED_SERVER_CREDENTIAL: h.shop.server,
        BONDED_SUBJECT: parts.subjectRef,
        BONDED_STORE: join(folder, `${name}.sqlite3`),
      },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    t.after(() => child.kill())
    const ended = once(child, 'close')
    const lines: string[] = []
    let isAnswered = false
    for await (const line of createInterface({ input: child.stdout })) {
      lines.push(line)
      const isLast = lines.length === (name === 'fastmcp' ? 1 : 2)
      if (!isLast || isAnswered) continue
      isAnswered = true
      const { items } = (await parts.open()).body as { items: readonly InboxItem[] }
      const [item] = items
      assert.ok(item)
      const listed = { id: item.session_id, nonce: item.nonce }
      assert.equal((await h.claim(phone, listed)).status, 200)
      const view = await h.view(phone, listed)
      assert.equal(view.context?.requester?.name, 'Invoice agent')
      assert.match(view.context?.text ?? '', /"cents": 125000/)
      assert.doesNotMatch(view.context?.text ?? '', /eve/)
      assert.equal((await h.attest(phone, view)).status, 200)
      child.stdin.write('\n')
    }
    assert.deepEqual(await ended, [0, null])
    assert.equal(lines.length, answers.length, lines.join('\n'))
    for (const [index, answer] of answers.entries()) assert.match(lines[index] ?? '', answer)
  })
