import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { test, type TestContext } from 'node:test'
import type { InboxItem } from '@bonded/contract'
import { firstOutput } from '../../../../tests/harness/first-output.ts'
import { HOUR, inboxHarness } from '../../../../tests/harness/inbox.ts'

const MAIN = resolve(import.meta.dirname, '../../../service/src/main.ts')
const NODE = ['--conditions=@bonded/source', '--disable-warning=ExperimentalWarning']

/** A service, a user with a phone, a folder, and the command in it. No process has a terminal. */
async function setting(t: TestContext) {
  const user = await inboxHarness({
    workflows: [
      { name: 'page', actions: ['act'] },
      { name: 'agent_commands', actions: ['run_command'], delivery: 'inbox' },
    ],
  })
  t.after(() => user[Symbol.asyncDispose]())
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'bonded-approve-')))
  t.after(() => rmSync(folder, { recursive: true }))
  const { h, phone } = user
  let last: ChildProcess | undefined
  function start(words: readonly string[], env: Readonly<Record<string, string>> = {}) {
    const own = ['approve', '--store', join(folder, 'approvals.db'), ...words]
    const child = spawn(process.execPath, [...NODE, MAIN, ...own], {
      cwd: folder,
      env: {
        PATH: process.env['PATH'],
        BONDED_ORIGIN: `http://127.0.0.1:${h.running.port}`,
        BONDED_SERVER_CREDENTIAL: h.shop.server,
        BONDED_SUBJECT: user.subjectRef,
        ...env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    t.after(() => child.kill('SIGKILL'))
    const errors = text(child.stderr)
    last = child
    const ended = once(child, 'close') as Promise<[number | null, string | null]>
    return { child, errors, ended }
  }
  /** The request, once it waits. */
  async function request() {
    while ((await user.count()) === 0) {
      assert.equal(last?.exitCode, null, 'the command ended before it asked')
      await new Promise(setImmediate)
    }
    const { items } = (await user.open()).body as { items: readonly InboxItem[] }
    const [item] = items
    assert.ok(item)
    const listed = { id: item.session_id, nonce: item.nonce }
    return {
      id: item.session_id,
      async approve() {
        assert.equal((await h.claim(phone, listed)).status, 200)
        const view = await h.view(phone, listed)
        assert.equal((await h.attest(phone, view)).status, 200)
        return view.context
      },
      async decline() {
        assert.equal((await h.claim(phone, listed)).status, 200)
        assert.equal((await h.decline(phone, listed)).status, 200)
      },
    }
  }
  const stateOf = async (id: string): Promise<string> => (await h.get({ id })).body.state
  return { ...user, folder, start, request, stateOf }
}

test('runs an approved command once, as it was shown, and ends with its exit code', async (t) => {
  const { folder, start, request, stateOf } = await setting(t)
  const script =
    'printf "%s|" "$@" >> ran; env | sort | grep -v -e PWD -e SHLVL -e _= >> ran; cat >> ran; exit 7'
  const words = ['--env', 'NAME', '--', 'sh', '-c', script, 'sh', '--help', 'two words', '$HOME']
  const { errors, ended } = start(words, { NAME: 'value' })
  const asked = await request()
  const context = await asked.approve()
  assert.deepEqual(await ended, [7, null], await errors)
  const file = realpathSync('/bin/sh')
  const sha256 = createHash('sha256').update(readFileSync(file)).digest('hex')
  assert.deepEqual(JSON.parse(context?.text ?? ''), {
    command: words.slice(3),
    environment: { NAME: 'value' },
    folder,
    program: { file, sha256 },
  })
  assert.equal(readFileSync(join(folder, 'ran'), 'utf8'), '--help|two words|$HOME|NAME=value\n')
  assert.equal(await stateOf(asked.id), 'completed')
})

test('asks again when the same words are started again', async (t) => {
  const { folder, start, request } = await setting(t)
  const words = ['--', 'sh', '-c', 'echo ran >> ran']
  const first = start(words)
  await (await request()).approve()
  assert.deepEqual(await first.ended, [0, null], await first.errors)
  const second = start(words)
  await (await request()).approve()
  assert.deepEqual(await second.ended, [0, null], await second.errors)
  assert.equal(readFileSync(join(folder, 'ran'), 'utf8'), 'ran\nran\n')
})

test('runs nothing after a decline, and ends with 123', async (t) => {
  const { folder, start, request } = await setting(t)
  const { errors, ended } = start(['--json', '--', 'touch', 'ran'])
  await (await request()).decline()
  assert.deepEqual(await ended, [123, null])
  assert.match(await errors, /"code":"approval_declined"/)
  assert.ok(!existsSync(join(folder, 'ran')))
})

test('runs nothing when the user does not answer in time, and ends with 124', async (t) => {
  const { h, folder, start, request } = await setting(t)
  const { errors, ended } = start(['--', 'touch', 'ran'])
  await request()
  h.clock.advance(HOUR)
  assert.deepEqual(await ended, [124, null], await errors)
  assert.ok(!existsSync(join(folder, 'ran')))
})

test('runs nothing when the program changes after the request, and withdraws it', async (t) => {
  const { folder, start, request, stateOf } = await setting(t)
  const program = join(folder, 'program')
  copyFileSync('/bin/true', program)
  const { errors, ended } = start(['--', './program'])
  const asked = await request()
  copyFileSync('/bin/false', program)
  await asked.approve()
  assert.deepEqual(await ended, [125, null])
  assert.match(await errors, /changed after the request/)
  assert.equal(await stateOf(asked.id), 'killed')
})

for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)
  test(`withdraws the request after ${signal} while it waits, and ends with ${code}`, async (t) => {
    const { folder, start, request, stateOf } = await setting(t)
    const { child, errors, ended } = start(['--', 'touch', 'ran'])
    const asked = await request()
    child.kill(signal)
    assert.deepEqual(await ended, [code, null], await errors)
    assert.equal(await stateOf(asked.id), 'killed')
    assert.ok(!existsSync(join(folder, 'ran')))
  })

test('passes SIGTERM on to the command that runs, and ends as the command does', async (t) => {
  const { start, request } = await setting(t)
  // The child of the shell says that it has begun: a signal between its fork and its start is lost,
  // and it would keep the output open for its ten minutes.
  const script = 'trap "exit 9" TERM; sh -c "echo started; exec sleep 600" & wait'
  const { child, errors, ended } = start(['--env', 'PATH', '--', 'sh', '-c', script])
  await (await request()).approve()
  assert.equal(await firstOutput(child), 'started\n')
  child.kill('SIGTERM')
  assert.deepEqual(await ended, [9, null], await errors)
})

test('ends with 128 and the signal that ended the command', async (t) => {
  const { start, request } = await setting(t)
  const { errors, ended } = start(['--', 'sh', '-c', 'kill -KILL $$'])
  await (await request()).approve()
  assert.deepEqual(await ended, [137, null], await errors)
})

for (const [what, words, env, message] of [
  ['a program that does not exist', ['--', 'no-such-program'], {}, /no program no-such-program/],
  ['a variable that is not set', ['--env', 'NOT_SET', '--', 'true'], {}, /NOT_SET is not set/],
  ['no server credential', ['--', 'true'], { BONDED_SERVER_CREDENTIAL: '' }, /serverCredential/],
] as const)
  test(`with ${what}, asks for nothing and ends with 125`, async (t) => {
    const { count, start } = await setting(t)
    const { errors, ended } = start(words, env)
    assert.deepEqual(await ended, [125, null])
    assert.match(await errors, message)
    assert.equal(await count(), 0)
  })

test('says first in its help whom it does not stop', async (t) => {
  const { start } = await setting(t)
  const { child, ended } = start(['--help'])
  const [, first] = (await text(child.stdout)).split('\n\n')
  assert.match(first ?? '', /^Does not stop a party that has the server credential or this shell\./)
  assert.deepEqual(await ended, [0, null])
})
