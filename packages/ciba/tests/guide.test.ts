import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { after, test } from 'node:test'
import { freePort } from '../../store/tests/servers/free-port.ts'
import { until } from '../../../tests/harness/process.ts'
import { cibaSetup, phoneOf } from './harness.ts'

const ROOT = resolve(import.meta.dirname, '../../..')
const GUIDE = readFileSync(join(ROOT, 'docs/guides/approve-with-openid.md'), 'utf8')
const blocks = Array.from(GUIDE.matchAll(/^```\w+\n([\s\S]*?)^```/gm), ([, block = '']) => block)
// The programs import packages of the repository.
const folder = mkdtempSync(join(ROOT, 'node_modules/.guide-'))
const processes: ChildProcess[] = []
after(() => {
  for (const { pid, exitCode } of processes)
    if (pid !== undefined && exitCode === null) process.kill(-pid, 'SIGKILL')
  rmSync(folder, { recursive: true })
})

test('the guide leads from a key to a payment that the user has approved', async () => {
  await using setup = await cibaSetup()
  const { inbox, credential } = setup
  const issuer = `http://127.0.0.1:${await freePort()}`
  const [newKey = '', config = '', start = '', client = '', resource = ''] = blocks
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text)
  write('new-key.mjs', newKey)
  const printed = spawnSync(process.execPath, ['new-key.mjs'], { cwd: folder, encoding: 'utf8' })
  const here = (text: string) =>
    text
      .replaceAll('https://approve.shop.example', issuer)
      .replaceAll('https://bonds.shop.example', setup.config.service)
      .replace('port: 8790', `port: ${new URL(issuer).port}`)
      .replaceAll('agent_payments', 'agent')
      .replaceAll('action: transfer', 'action: act')
      .replaceAll('SUBJECT_REF', inbox.subjectRef)
      .replaceAll('PUBLIC_KEY', printed.stdout.trim())
  write('ciba.yaml', here(config))
  const [, command = ''] = /BONDED_SERVER_CREDENTIAL=\S+ (npx .*)/.exec(start) ?? []
  const { NODE_TEST_CONTEXT: _testContext, ...inherited } = process.env
  const run = (program: string, args: readonly string[]) => {
    const child = spawn(program, args, {
      cwd: folder,
      env: { ...inherited, BONDED_SERVER_CREDENTIAL: credential },
      stdio: ['ignore', 'pipe', 'inherit'],
      detached: true,
    })
    processes.push(child)
    return child
  }
  const provider = run('npx', command.split(' ').slice(1))
  for await (const chunk of provider.stdout) if (/ready/.test(String(chunk))) break

  // The resource is in this process, and the client prints the request that it would get.
  const insecure = 'client.allowInsecureRequests'
  write(
    'client.mjs',
    here(client)
      .replace("kid: 'agent-1' }),\n)", `kid: 'agent-1' }),\n  { execute: [${insecure}] },\n)`)
      .replace(
        'const paid =',
        `config[client.customFetch] = async (url, { method, headers }) =>
  new Response(JSON.stringify({ url, method, headers: Object.fromEntries(new Headers(headers)) }))
const paid =`,
      ),
  )
  const asking = run(process.execPath, ['client.mjs'])
  let output = ''
  asking.stdout.on('data', (chunk) => (output += String(chunk)))
  const phone = phoneOf(inbox)
  await until(async () => ((await phone.waiting()) === 1 ? true : undefined), 60_000)
  await phone.approve()
  assert.deepEqual(await once(asking, 'close'), [0, null])
  const { url, ...sent } = JSON.parse(output) as { url: string; method: string }

  const allowed = here(resource)
    .replace('discoveryRequest(issuer)', 'discoveryRequest(issuer, insecure)')
    .replace('request, audience)', 'request, audience, insecure)')
  write(
    'resource.mjs',
    `${allowed}\nconst insecure = { [oauth.allowInsecureRequests]: true }\n`.replace(
      /(import .*\n)([\s\S]*)(const insecure.*\n)/,
      '$1$3$2',
    ),
  )
  const { pay } = (await import(pathToFileURL(join(folder, 'resource.mjs')).href)) as {
    pay: (request: Request, backend: object) => Promise<unknown>
  }
  const spent = new Set<string>()
  const backend = {
    spend: async (jti: string) => !spent.has(jti) && spent.add(jti),
    transfer: async (details: { amount: string }) => `paid ${details.amount}`,
  }
  assert.equal(await pay(new Request(url, sent), backend), 'paid 1250.00')
  await assert.rejects(pay(new Request(url, sent), backend), /spent before/)
})
