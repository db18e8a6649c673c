import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import type { InboxItem } from '@bonded/contract'
import { inboxHarness } from '../../../tests/harness/inbox.ts'
import { type Ledger, payApproved, reconcileTransfers, transferApprovals } from '../transfers.ts'

const ARGS = { to: 'DE02 1203 0000 0000 2020 51', cents: 125_000 }
const HOOK = resolve(import.meta.dirname, '../claude-code-hook.ts')

/** The service, and a user whose phone answers the next request. */
async function userWithPhone() {
  const parts = await inboxHarness({
    workflows: [
      { name: 'page', actions: ['act'] },
      { name: 'agent_payments', actions: ['transfer'], delivery: 'inbox' },
      { name: 'agent_commands', actions: ['run_tool'], delivery: 'inbox' },
    ],
  })
  const { h, phone } = parts
  /** Waits for a request, and answers it. Resolves to what the phone showed. */
  async function answer(action: 'approve' | 'decline') {
    while ((await parts.count()) === 0) await new Promise(setImmediate)
    const { items } = (await parts.open()).body as { items: readonly InboxItem[] }
    const [item] = items
    assert.ok(item)
    const listed = { id: item.session_id, nonce: item.nonce }
    assert.equal((await h.claim(phone, listed)).status, 200)
    const view = await h.view(phone, listed)
    const answered = action === 'approve' ? h.attest(phone, view) : h.decline(phone, listed)
    assert.equal((await answered).status, 200)
    return view.context
  }
  const service = {
    baseUrl: `http://127.0.0.1:${h.running.port}`,
    serverCredential: h.shop.server,
  }
  return { ...parts, service, answer }
}

for (const [action, sends, expected] of [
  ['approve', [ARGS], /sent sess_/],
  ['decline', [], /Not sent: declined/],
] as const)
  test(`the tool of an agent sends ${sends.length} transfers after ${action}`, async () => {
    await using user = await userWithPhone()
    const sent: object[] = []
    const output = payApproved(
      {
        approvals: transferApprovals(user.service),
        user: { id: 'user-1', subjectRef: user.subjectRef },
        send: async (transfer, id) => {
          sent.push(transfer)
          return `sent ${id}`
        },
      },
      ARGS,
    )
    const context = await user.answer(action)
    assert.equal(context?.requester?.name, 'Invoice agent')
    assert.match(context?.text ?? '', /"cents": 125000/)
    assert.match(await output, expected)
    assert.deepEqual(sent, sends)
  })

for (const [isEntered, state] of [
  [true, 'completed'],
  [false, 'bonded'],
] as const)
  test(`a transfer that threw is reconciled by its entry, and its session is ${state}`, async () => {
    await using user = await userWithPhone()
    const entries = new Map<string, 'sent' | 'void'>()
    const ledger: Ledger = {
      async enter(id, entry) {
        entries.set(id, entries.get(id) ?? entry)
        return entries.get(id) ?? entry
      },
    }
    const approvals = transferApprovals(user.service)
    let id = ''
    const output = payApproved(
      {
        approvals,
        user: { id: 'user-1', subjectRef: user.subjectRef },
        send: async (_transfer, of) => {
          id = of
          if (isEntered) await ledger.enter(of, 'sent')
          throw new Error('the connection was reset')
        },
      },
      ARGS,
    )
    const thrown = assert.rejects(output, { code: 'outcome_unknown' })
    await user.answer('approve')
    await thrown
    await reconcileTransfers(approvals, ledger)
    assert.deepEqual(await approvals.reconcile(), [])
    assert.equal((await user.h.get({ id })).body.state, state)
    assert.equal(await ledger.enter(id, 'sent'), isEntered ? 'sent' : 'void')
  })

/** Runs the hook as Claude Code does. */
async function runHook(env: Readonly<Record<string, string>>, input: string) {
  const folder = mkdtempSync(join(tmpdir(), 'bonded-hook-'))
  try {
    const hook = spawn(process.execPath, ['--conditions=@bonded/source', HOOK], {
      env: { ...process.env, ...env, BONDED_STORE: join(folder, 'approvals.db') },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    const ended = new Promise<number | null>((done) => hook.on('close', done))
    hook.stdin.end(input)
    const [printed, errors] = await Promise.all([text(hook.stdout), text(hook.stderr)])
    return { code: await ended, printed, errors }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const BASH = {
  session_id: 'session-1',
  cwd: '/home/anna/shop',
  hook_event_name: 'PreToolUse',
  tool_name: 'Bash',
  tool_input: { command: 'rm -rf build' },
}

for (const [action, decision] of [
  ['approve', 'allow'],
  ['decline', 'deny'],
] as const)
  test(`the hook of Claude Code says ${decision} after ${action}`, async () => {
    await using user = await userWithPhone()
    const env = {
      BONDED_ORIGIN: user.service.baseUrl,
      BONDED_SERVER_CREDENTIAL: user.service.serverCredential,
      BONDED_SUBJECT: user.subjectRef,
    }
    const hook = runHook(env, JSON.stringify(BASH))
    const context = await user.answer(action)
    assert.match(context?.text ?? '', /"command": "rm -rf build"/)
    const { code, printed, errors } = await hook
    assert.equal(code, 0, errors)
    const { hookSpecificOutput } = JSON.parse(printed) as {
      hookSpecificOutput: { permissionDecision: string }
    }
    assert.equal(hookSpecificOutput.permissionDecision, decision)
  })

for (const [what, env, input] of [
  ['no settings', {}, JSON.stringify(BASH)],
  ['no service', { BONDED_ORIGIN: 'http://127.0.0.1:9' }, JSON.stringify(BASH)],
  ['other input', {}, 'x'],
] as const)
  test(`with ${what}, the hook ends with 2, which stops the tool`, async () => {
    const { code, printed } = await runHook(env, input)
    assert.deepEqual([code, printed], [2, ''])
  })
