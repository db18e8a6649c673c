import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdirSync, realpathSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { test, type TestContext } from 'node:test'
import { firstOutput } from '../../../tests/harness/first-output.ts'
import { COMMAND } from '../../../tests/harness/process.ts'
import { ASKED, OPENED, startTrial } from '../../../tests/harness/trial.ts'

const trial = (t: TestContext, words: readonly string[] = [], env = {}) =>
  startTrial(t, [process.execPath, ...COMMAND, 'try', ...words], { env })

test('runs the command that the phone has approved, and leaves no file', async (t) => {
  const { folder, printed, ended, says, phone } = await trial(t, ['--', 'echo', '-n', 'ran'])
  const { setUp, answer } = await phone()
  await setUp()
  await says(ASKED)
  const shown = await answer('approve')
  assert.equal(shown?.tenant_name, 'This computer (trial)')
  assert.deepEqual(JSON.parse(shown?.context?.text ?? '').command, ['echo', '-n', 'ran'])
  assert.deepEqual(await ended, [0, null], printed.stderr)
  assert.equal(printed.stdout, 'ran')
  assert.match(printed.stderr, /The key of this phone proves nothing yet: .*"webauthn": "any"/)
  assert.match(printed.stderr, /Your own phone needs HTTPS/)
  assert.deepEqual(readdirSync(folder), [])
})

test('runs no command that the phone has declined, and ends with 123', async (t) => {
  const { folder, printed, ended, says, phone } = await trial(t, ['--json', '--', 'touch', 'ran'])
  const { setUp, answer } = await phone()
  await setUp()
  await says(ASKED)
  await answer('decline')
  assert.deepEqual(await ended, [123, null], printed.stderr)
  assert.match(printed.stderr, /"code":"approval_declined"/)
  assert.doesNotMatch(printed.stderr, /It ran/)
  assert.deepEqual(readdirSync(folder), [])
})

test('ends with 123 when the phone declines to be set up', async (t) => {
  const { printed, ended, phone } = await trial(t)
  await (await phone()).setUp('decline')
  assert.deepEqual(await ended, [123, null])
  assert.match(printed.stderr, /^error: The phone was not set up\. The command did not run\.$/m)
})

test('ends with the exit code of the command', async (t) => {
  const { ended, printed, says, phone } = await trial(t, ['--', 'sh', '-c', 'exit 7'])
  const { setUp, answer } = await phone()
  await setUp()
  await says(ASKED)
  await answer('approve')
  assert.deepEqual(await ended, [7, null], printed.stderr)
})

const AGENT = `
console.error('The tool waits for an approval: ' + process.env.BONDED_ORIGIN + '/inbox')
console.log(Object.keys(process.env).filter((name) => /^BONDED_(?!PORT|ENV|DATA)/.test(name)).sort().join())
`

test('with --agent, runs a program that asks by itself', async (t) => {
  const { folder, ended, printed, phone } = await trial(t, [
    '--agent',
    '--',
    process.execPath,
    '-e',
    AGENT,
  ])
  await (await phone()).setUp()
  assert.deepEqual(await ended, [0, null], printed.stderr)
  const names = 'BONDED_ORIGIN,BONDED_SERVER_CREDENTIAL,BONDED_STORE,BONDED_SUBJECT\n'
  assert.equal(printed.stdout, names)
  assert.deepEqual(readdirSync(folder), [])
})

test('with --agent, names a program that does not start, and ends with 125', async (t) => {
  const { ended, printed, phone } = await trial(t, ['--agent', '--', 'no-such-program'])
  await (await phone()).setUp()
  assert.deepEqual(await ended, [125, null])
  assert.match(printed.stderr, /^error: no-such-program did not start: .*ENOENT/m)
})

/** The processes that have this folder as their own, which is that of `trial`. */
const processesIn = (folder: string) =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return realpathSync(`/proc/${pid}/cwd`) === folder
      } catch {
        return false
      }
    })

for (const [what, signal, arrive] of [
  ['the phone is set up', 'SIGINT', async ({ says }) => void (await says(OPENED))],
  [
    'the request waits',
    'SIGINT',
    async ({ phone, says }) => {
      await (await phone()).setUp()
      await says(ASKED)
    },
  ],
  [
    'the command runs',
    'SIGHUP',
    async ({ child, phone, says }) => {
      const { setUp, answer } = await phone()
      await setUp()
      await says(ASKED)
      const running = firstOutput(child)
      await answer('approve')
      await running
    },
  ],
] as const satisfies readonly (readonly [
  string,
  NodeJS.Signals,
  (given: Awaited<ReturnType<typeof trial>>) => Promise<void>,
])[])
  test(`leaves no process and no file after ${signal} while ${what}`, {
    skip: process.platform !== 'linux',
  }, async (t) => {
    const given = await trial(t, ['--', 'sh', '-c', 'echo runs; exec sleep 600'])
    await arrive(given)
    given.child.kill(signal)
    assert.deepEqual(await given.ended, [0, null], given.printed.stderr)
    assert.deepEqual(processesIn(given.folder), [])
    assert.deepEqual(readdirSync(given.folder), [])
  })

test('names the port that another program has, and leaves no file', async (t) => {
  const server = createServer().listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const { folder, printed, ended } = await trial(t, [], { BONDED_PORT: String(port) })
  assert.deepEqual(await ended, [1, null])
  assert.match(printed.stderr, new RegExp(`^error: Port ${port} is in use\\..* BONDED_PORT`))
  assert.deepEqual(readdirSync(folder), [])
})
