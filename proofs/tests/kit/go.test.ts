import assert from 'node:assert/strict'
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { after, test } from 'node:test'
import { freePort } from '../../../packages/store/tests/servers/free-port.ts'
import { until } from '../../../tests/harness/process.ts'
import { readVectors } from '../../kit/src/verifier.ts'
import { keptBy, runKit } from './run-kit.ts'

const EXAMPLES = resolve(import.meta.dirname, '../../kit/examples')
/** Longer than the start of a process on a machine that does other work. */
const START_MS = 60_000

const skip =
  spawnSync('go', ['version']).status !== 0 &&
  'no go to build the examples (apt-get install golang-go)'
if (skip) console.warn(`LOUD: ${skip}`)

const folder = mkdtempSync(join(tmpdir(), 'bonded-kit-go-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const program = join(folder, 'examples')

/** Starts one of the two examples. */
async function startExample(target: 'phone' | 'verifier') {
  const address = `127.0.0.1:${await freePort()}`
  const child = spawn(program, [target, address], { stdio: 'inherit' })
  const ended = once(child, 'exit')
  // It answers an unknown command once it listens.
  await until(
    () =>
      fetch(`http://${address}/none`).then(
        ({ status }) => status,
        () => undefined,
      ),
    START_MS,
  )
  return {
    address: `http://${address}`,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await ended
    },
  }
}

test('the examples in Go are formatted, and build without a module of others', { skip }, () => {
  const run = (...[command, ...args]: [string, ...string[]]) =>
    execFileSync(command, args, {
      cwd: EXAMPLES,
      env: { ...process.env, GOPROXY: 'off', GOFLAGS: '-buildvcs=false' },
      encoding: 'utf8',
    })
  assert.equal(run('gofmt', '-l', '.'), '')
  assert.equal(run('go', 'vet', '.'), '')
  assert.equal(run('go', 'build', '-o', program, '.'), '')
})

test('the phone in Go keeps every rule of the kit', { skip }, async () => {
  await using phone = await startExample('phone')
  assert.ok(keptBy(await runKit(['phone', phone.address])) > 25)
})

test('the verifier in Go gives the answer of every vector of its files', { skip }, async () => {
  await using verifier = await startExample('verifier')
  const files = ['receipts', 'quorums', 'logs'] as const
  const all = files.reduce((sum, name) => sum + readVectors(name).tests.length, 0)
  assert.equal(keptBy(await runKit(['verifier', verifier.address, ...files])), all)
})
