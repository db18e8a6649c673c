import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import type { InboxItem } from '@bonded/contract'
import { inboxHarness } from './harness/inbox.ts'
import { samplesOf } from './samples/samples.ts'

const ROOT = resolve(import.meta.dirname, '..')
const GUIDE = samplesOf('docs/guides/approve-an-agents-action.md')
const codeOf = (part: string) => GUIDE.find(({ code }) => code.includes(part))?.code ?? ''

/** An empty folder with the packages of the repository. */
function emptyFolder() {
  const path = mkdtempSync(join(tmpdir(), 'bonded-agent-guide-'))
  symlinkSync(join(ROOT, 'node_modules'), join(path, 'node_modules'))
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true }) }
}

test('the tenant of the guide has the preset agent', { timeout: 120_000 }, () => {
  using folder = emptyFolder()
  const command = codeOf('tenant create').replace('npx bonded', 'node "$BONDED"')
  const env = {
    ...process.env,
    BONDED: join(ROOT, 'packages/service/bin/bonded.js'),
    BONDED_DATA_DIR: join(folder.path, 'data'),
  }
  const printed = execFileSync('sh', ['-ec', command], { cwd: folder.path, env, encoding: 'utf8' })
  assert.match(printed, /sk_beta_/)
})

test('the agent of the guide runs what the user approved, once', { timeout: 120_000 }, async () => {
  using folder = emptyFolder()
  writeFileSync(join(folder.path, 'server.mjs'), codeOf('new McpServer'))
  writeFileSync(join(folder.path, 'agent.mjs'), codeOf('new Client'))
  await using user = await inboxHarness({
    workflows: [
      { name: 'page', actions: ['act'] },
      {
        name: 'agent_payments',
        actions: ['transfer'],
        delivery: 'inbox',
        require: ['local_auth'],
      },
    ],
  })
  const { h, phone } = user
  const agent = spawn('sh', ['-ec', codeOf('node agent.mjs').replace('node', '"$NODE"')], {
    cwd: folder.path,
    env: {
      ...process.env,
      NODE: process.execPath,
      NODE_OPTIONS: '--conditions=@bonded/source --disable-warning=ExperimentalWarning',
      BONDED_ORIGIN: `http://127.0.0.1:${h.running.port}`,
      BONDED_SERVER_CREDENTIAL: h.shop.server,
      SUBJECT_REF: user.subjectRef,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const printed = text(agent.stdout)
  while ((await user.count()) === 0 && agent.exitCode === null) await new Promise(setImmediate)
  const [item] = ((await user.open()).body as { items: readonly InboxItem[] }).items
  assert.ok(item)
  assert.equal(item.requester?.name, 'Invoice agent')
  const listed = { id: item.session_id, nonce: item.nonce }
  await h.claim(phone, listed)
  assert.equal((await h.attest(phone, await h.view(phone, listed))).status, 200)
  const lines = (await printed).match(/status: '\w+'|^approval_required: open \S+\/inbox/gm)
  assert.deepEqual(
    lines?.map((line) => line.replace(/: open .*/, '')),
    ['approval_required', "status: 'not_approved'", "status: 'sent'", "status: 'already_executed'"],
  )
})
