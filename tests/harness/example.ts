import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { loadTestAuthority } from '@bonded/simulator'
import { freePort } from '../../packages/store/tests/servers/free-port.ts'
import { walkGuide } from '../samples/guide.ts'
import { TEXT_KINDS } from './text-kinds.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const NO_REGISTRY =
  /\b(?:ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|No matching distribution found|No module named pip)\b/

/** Starts an example by the command of its README, and sends forms through its gate. */
export function testExample(name: string): void {
  test(`one command starts the ${name} site, and an approved form passes its gate`, async (t) => {
    const example = await startExample(name, /Ready: http[^]*Stop with/)
    if (typeof example === 'string') {
      console.warn(`LOUD: ${example}`)
      return t.skip(example)
    }
    try {
      assert.deepEqual(await passGate(example), PASSED)
    } finally {
      await example.stop()
    }
  })
}

/** Starts an agent by the command of its README, and approves what its tool asks for. */
export function testAgent(name: string): void {
  test(`one command starts an agent with ${name}, whose tool runs once what the phone approved`, async (t) => {
    const waiting = /Waiting for the approval of (sess_\w+)/
    const example = await startExample(name, waiting)
    if (typeof example === 'string') {
      console.warn(`LOUD: ${example}`)
      return t.skip(example)
    }
    try {
      const [, id = ''] = waiting.exec(example.printed()) ?? []
      assert.doesNotMatch(example.printed(), /Sent/)
      const shown = await example.approve(id)
      assert.match(shown, /Invoice agent/)
      assert.match(shown, /"cents": 125000/)
      assert.match(shown, /"to": "DE02 1203 0000 0000 2020 51"/)
      assert.doesNotMatch(shown, /"user"/)
      assert.deepEqual(await example.ended, [0, null])
      const sent = example.printed().match(/^Sent .*$/gm)
      assert.deepEqual(sent, [`Sent 125000 cents to DE02 1203 0000 0000 2020 51 as ${id}`])
      assert.match(example.printed(), /^The agent read: .*sent/m)
    } finally {
      await example.stop()
    }
  })
}

/** Returns why the example cannot be installed here. */
async function startExample(name: string, isReady: RegExp) {
  const guide = { path: `examples/${name}/README.md`, test: import.meta.filename }
  const command = await walkGuide(guide, async (next) => next()().trim())
  // What the demo leaves: its simulated phone is an iPhone, which the example's service rejects.
  const folder = mkdtempSync(join(tmpdir(), 'bonded-phone-'))
  loadTestAuthority(folder)
  const port = await freePort()
  const { NODE_OPTIONS: _conditions, ...inherited } = process.env
  const env = { ...inherited, PORT: String(port), BONDED_PORT: String(await freePort()) }
  const [program = '', ...args] = command.split(' ')
  const child = spawn(program, args, {
    cwd: ROOT,
    // Where no index answers, pip would retry for a minute.
    env: { ...env, PIP_RETRIES: '1', BONDED_DATA_DIR: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  // Its pipes close when the last program that it has started has ended.
  const ended = once(child, 'close')
  let printed = ''
  const ready = new Promise<boolean>((done) => {
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk) => {
        printed += String(chunk)
        if (isReady.test(printed)) done(true)
      })
    void ended.then(() => done(false))
  })
  const stop = async () => {
    // npm alone receives the signal.
    child.kill('SIGTERM')
    await ended
    rmSync(folder, { recursive: true, force: true })
  }
  const approve = async (request: string) => {
    const [, words = ''] = /^ *npx bonded (phone .*)$/m.exec(printed) ?? []
    const phone = words.replace(/screenshot\.png|SESSION/, request).split(' ')
    const bonded = join(ROOT, 'packages/service/bin/bonded.js')
    // Without blocking: the site closes a connection after seconds, which this process would learn
    // only when it uses it again.
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [bonded, ...phone, '--no-wait'],
      { env: { ...process.env, BONDED_DATA_DIR: folder, BONDED_PORT: env.BONDED_PORT } },
    )
    return stdout
  }
  const origin = `http://localhost:${port}`
  if (await ready) return { origin, approve, stop, ended, printed: () => printed }
  await stop()
  if (NO_REGISTRY.test(printed)) return `no registry has the packages of examples/${name}`
  throw new Error(`${command} failed: ${printed}`)
}

interface Example {
  readonly origin: string
  /**
   * Runs the command that the example prints, for a link or a session. Resolves to what the phone
   * showed.
   */
  readonly approve: (request: string) => Promise<string>
}

/** The page and the phone of an example: a stranger, a changed form, the approved one, twice. */
async function passGate({ origin, approve }: Example) {
  const post = async (path: string, body: object, cookie = '') => {
    const response = await fetch(origin + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin', cookie },
      body: JSON.stringify(body),
    })
    const [login = ''] = response.headers.get('set-cookie')?.split(';') ?? []
    return { status: response.status, login, body: (await response.json()) as ExampleReply }
  }
  const page = await (await fetch(origin)).text()
  assert.match(page, /pk_beta_/)
  const form = { amount: 12_500, purpose: 'car', note: '' }
  assert.equal((await post('/drafts', { ...form, purpose: 'war' })).status, 400)
  const { login } = await post('/drafts', form)
  const { login: other } = await post('/drafts', form)
  assert.ok(await isRejectedFromAnotherSite(`${origin}/bond-session`, login))
  for (const [kind, { typed, shown }] of Object.entries(TEXT_KINDS)) {
    const { login: writer } = await post('/drafts', { ...form, note: typed })
    const created = await post('/bond-session', {}, writer)
    const { error, context } = created.body
    if (shown === undefined)
      assert.deepEqual(
        [created.status, error?.code, error?.param],
        [400, 'form_invalid', 'context.display.2.value'],
        kind,
      )
    else assert.deepEqual(context?.display[2], { label: 'Note', value: shown }, kind)
  }
  const { body: session } = await post('/bond-session', {}, login)
  assert.ok(!JSON.stringify(session).includes('completion_secret'))
  assert.deepEqual(session.context?.display[0], { label: 'Amount', value: '€12500' })
  const submit = (fields: object, cookie = login) =>
    post('/applications', { ...fields, session_id: session.id }, cookie)
  const early = await submit(form)
  await approve(session.universal_link ?? '')
  const stranger = await submit(form, other)
  const changed = await submit({ ...form, amount: 99_999 })
  const accepted = await submit(form)
  const again = await submit(form)
  return {
    statuses: [early, stranger, changed, accepted, again].map(({ status }) => status),
    outcome: accepted.body.outcome,
    result: accepted.body.result,
  }
}

/** Sends what the form of another site can send, with the user's cookie. */
async function isRejectedFromAnotherSite(url: string, cookie: string): Promise<boolean> {
  const site = { origin: 'https://other.example', 'sec-fetch-site': 'cross-site' }
  const body = new URLSearchParams({ amount: '1' })
  const { status } = await fetch(url, { method: 'POST', headers: { ...site, cookie }, body })
  return [400, 403, 415].includes(status)
}

interface ExampleReply {
  readonly id?: string
  readonly universal_link?: string
  readonly context?: { readonly display: readonly object[] }
  readonly outcome?: string
  readonly result?: string
  readonly error?: { readonly code?: string; readonly param?: string }
}

/** What every example answers to `passGate`. */
const PASSED = {
  statuses: [403, 403, 403, 200, 403],
  outcome: 'accepted',
  result: 'A-1',
}
