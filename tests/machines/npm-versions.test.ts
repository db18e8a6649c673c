import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { freePort } from '../../packages/store/tests/servers/free-port.ts'
import { assertBonded, quickstartSteps } from '../quickstart-steps.ts'
import { rootsMissing } from './debian-root.ts'
import { DEBIAN, type Stranger, stranger } from './stranger.ts'

/** The programs that the blocks of the quickstart call. */
const READER = ['curl', 'openssl']

/** The last version of each npm that installs the repository, and the Node of each that runs it. */
const INSTALLATIONS = ['20.20.2', '24.21.0'].flatMap((node) =>
  ['9.9.4', '10.8.2', '11.19.1'].map((npm) => ({ node, npm })),
)

const cache = mkdtempSync(join(tmpdir(), 'bonded-stranger-npm-'))
after(() => rmSync(cache, { recursive: true, force: true }))

for (const versions of INSTALLATIONS)
  test(`a stranger with npm ${versions.npm} on Node ${versions.node} starts and stops the demo, and follows the quickstart`, {
    skip: rootsMissing(),
    timeout: 1_800_000,
  }, async () => {
    using machine = stranger({ ...versions, debian: [...DEBIAN, ...READER], cache })
    const found = machine.finish(['sh', '-c', 'node --version; npm --version'])
    assert.equal(found.stdout, `v${versions.node}\n${versions.npm}\n`)
    const installed = machine.finish(['npm', 'ci'])
    assert.equal(installed.status, 0, installed.stdout + installed.stderr)
    await startAndStop(machine)
    await followQuickstart(machine)
  })

/** `npm start` serves a bank, a phone, and the service, and ends with a signal to npm alone. */
async function startAndStop(machine: Stranger): Promise<void> {
  const [service, bank, demo] = [await freePort(), await freePort(), await freePort()]
  await machine.signaled({
    command: ['npm', 'start'],
    env: [`BONDED_PORT=${service}`, `BANK_PORT=${bank}`, `DEMO_PORT=${demo}`],
    ready: /Stop {7}/,
    act: async () => {
      for (const [port, path] of [
        [service, '/health/ready'],
        [bank, '/'],
        [demo, '/'],
      ] as const)
        assert.equal((await fetch(`http://localhost:${port}${path}`)).status, 200, path)
    },
  })
}

/** The blocks of the quickstart bond a session, while its service runs in another terminal. */
async function followQuickstart(machine: Stranger): Promise<void> {
  const port = await freePort()
  const { start, reader } = quickstartSteps(port)
  const env = [`BONDED_PORT=${port}`]
  await machine.signaled({
    command: start,
    env,
    ready: /^ready:/m,
    act: async () => {
      const { status, stdout, stderr } = machine.finish(reader, env)
      assert.equal(status, 0, stdout + stderr)
      assertBonded(stdout)
    },
  })
}
