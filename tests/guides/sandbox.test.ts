import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { CreatedSession } from '@bonded/contract'
import { createSimulatedPhone } from '@bonded/simulator'
import { freePort } from '../../packages/store/tests/servers/free-port.ts'
import { webhookReceiver } from '../../packages/server/tests/webhook-receiver.ts'
import { ROOT } from '../../scripts/site/documents.ts'
import { machine, until } from '../harness/process.ts'
import { walkGuide } from '../samples/guide.ts'
import type { Values } from '../samples/replacements.ts'
import { Terminal } from '../samples/terminal.ts'

// The guides about a sandbox, typed in the one that docs/guides/testing.md starts. The folder is
// below the repository, so that `npx bonded` finds the command.
const folder = mkdtempSync(join(ROOT, 'node_modules/.guides-'))
const port = String(await freePort())
const origin = `http://localhost:${port}`
const env = { ...process.env, TMPDIR: folder, BONDED_DATA_DIR: folder, BONDED_PORT: port }
const terminal = new Terminal({ folder, env })
after(async () => {
  await terminal[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})
const tenant = { tenant_id: '', server_credential: '' }

const call = async <T>(path: string, body: object = {}, more = {}): Promise<T> => {
  const headers = {
    authorization: `Bearer ${tenant.server_credential}`,
    'content-type': 'application/json',
    connection: 'close',
    ...more,
  }
  const init = { method: 'POST', body: JSON.stringify(body) }
  return (await fetch(`${origin}/api/v1${path}`, { ...init, headers })).json() as Promise<T>
}
const guide = (name: string, values: Values = {}) => ({
  path: `docs/guides/${name}`,
  test: import.meta.filename,
  values,
})
const create = () => call<CreatedSession>('/sessions')

const CREATE_BANK =
  'tenant create --name Bank --environment sandbox --origin https://www.bank.example --workflow transfer:submit'

test('testing.md starts a sandbox, advances its clock, and shows a session', async () => {
  await walkGuide(guide('testing.md', { 8787: port }), async (next) => {
    const printed = await terminal.type(next())
    for (const name of ['tenant_id', 'server_credential'] as const)
      tenant[name] = new RegExp(`"${name}": ?"([^"]+)"`).exec(printed)?.[1] ?? printed
    assert.match(await terminal.type(next()), /ahead/)
    const session = await create()
    const ids = { 'sess_…': session.id, 'sk_beta_…': tenant.server_credential }
    const showing = terminal.type(next(), ids)
    // The link that the QR code shows now.
    const [link] = await terminal.printed(/^http\S+$/m)
    await createSimulatedPhone({ origin }).run(link, 'approve')
    const secret = { 'x-bond-completion-secret': session.completion_secret }
    await call(`/sessions/${session.id}/form-completed`, {}, secret)
    assert.match(await showing, /completed[^]*\/webhooks\/ten_/)
  })
})

test('webhooks.md registers endpoints, and brings events to a receiver on this machine', async () => {
  await using receiver = await webhookReceiver()
  const values = {
    'https://bond.example': origin,
    3000: new URL(receiver.url).port,
    'sk_beta_…': tenant.server_credential,
    'ten_…': tenant.tenant_id,
  }
  await walkGuide(guide('webhooks.md', values), async (next) => {
    assert.match(await terminal.type(next()), /whsec_/)
    assert.match(await terminal.type(next()), /"secret":"whsec_/)
    await terminal.start(next()).printed(/whsec_/)
    await terminal.type(next())
    assert.match(await terminal.type(next()), /"url":"[^"]+\/webhooks\/ten_/)
    assert.match(await terminal.type(next()), /whsec_/)
  })
  const wanted = ['session.bonded', 'session.killed', 'device.suspect']
  await until(
    async () => wanted.every((type) => receiver.types().includes(type as never)) || undefined,
    60_000,
  )
})

test('put-it-on-your-site.md answers two sessions in CI', async () => {
  await walkGuide(guide('put-it-on-your-site.md'), async (next) => {
    for (const state of ['bonded', 'killed']) {
      const { universal_link } = await create()
      const printed = await terminal.type(next(), { SESSION_LINK: universal_link })
      assert.match(printed, new RegExp(`"state": ?"${state}"`))
    }
  })
})

test('stop-relays.md replaces a workflow by one that requires the browser', async () => {
  const [data = ''] = readdirSync(folder).filter((name) => name.startsWith('tmp.'))
  const m = machine({ folder: join(folder, data), env: { BONDED_PORT: port } })
  const { tenant_id } = m.json(...CREATE_BANK.split(' '))
  await walkGuide(guide('stop-relays.md', { 'ten_…': tenant_id }), async (next) => {
    terminal.write('workflows.json', next())
    await terminal.type(next())
  })
  assert.deepEqual(m.json('tenant', 'show', tenant_id).workflows[0].require, ['browser'])
})

test('phones.md registers a simulated phone with another format of key', async () => {
  await walkGuide(guide('phones.md'), async (next) => {
    assert.match(await terminal.type(next()), /android-key/)
  })
})
