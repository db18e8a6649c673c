import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { freePort } from '../../../packages/store/tests/servers/free-port.ts'
import { CREATE_TENANT, machine } from '../../../tests/harness/process.ts'
import { readVectors, VECTORS } from '../../kit/src/verifier.ts'
import { findPython } from '../../../packages/python/tests/python.ts'
import { childAdapter, pythonAdapter } from './child-adapter.ts'

const KIT = resolve(import.meta.dirname, '../../kit')

/** Runs the kit as a stranger does. */
async function runKit(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const { NODE_TEST_CONTEXT: _testContext, ...inherited } = process.env
  const running = promisify(execFile)(process.execPath, [KIT, ...args], {
    env: { ...inherited, ...env },
  })
  const ended = await running.then(
    ({ stdout }) => ({ code: 0, stdout }),
    ({ code, stdout }: { code: number; stdout: string }) => ({ code, stdout }),
  )
  return ended
}

/** The report of a target that keeps every rule, and how many there are. */
function keptBy({ code, stdout }: { readonly code: number; readonly stdout: string }): number {
  const [, kept, all] = /^(\d+) of (\d+)\n$/.exec(stdout) ?? []
  assert.equal(kept, all, stdout)
  assert.equal(code, 0, stdout)
  return Number(all)
}

test('the product’s own phone keeps every rule of the kit', async () => {
  await using adapter = await childAdapter('product-phone.ts')
  assert.ok(keptBy(await runKit(['phone', adapter.address])) > 25)
})

test('the product’s own service keeps every rule of the kit, in a process of its own', async () => {
  const port = await freePort()
  const origin = `http://localhost:${port}`
  using computer = machine({
    env: {
      BONDED_RATE_LIMITS: 'off',
      BONDED_PORT: String(port),
      BONDED_PUBLIC_ORIGIN: origin,
    },
  })
  const { server_credential } = computer.json(...CREATE_TENANT)
  await using service = await computer.serve()
  const ran = await runKit(['service', origin], { BONDED_SERVER_CREDENTIAL: server_credential })
  assert.ok(keptBy(ran) > 45, service.output())
})

test('the product’s own verifiers give the answer of every vector', async () => {
  await using adapter = await childAdapter('product-verifier-process.ts')
  const all = VECTORS.reduce((sum, name) => sum + readVectors(name).tests.length, 0)
  assert.equal(keptBy(await runKit(['verifier', adapter.address])), all)
  const some = await runKit(['verifier', adapter.address, 'logs', 'witnesses'])
  assert.equal(
    keptBy(some),
    readVectors('logs').tests.length + readVectors('witnesses').tests.length,
  )
})

const found = findPython('cryptography', 'httpx')
for (const kind of ['package', 'script'] as const)
  test(`the ${kind} in Python gives the answer of every vector that it can check`, {
    skip: 'skip' in found && found.skip,
  }, async () => {
    if ('skip' in found) return
    await using adapter = await pythonAdapter(found.python, kind)
    assert.ok(keptBy(await runKit(['verifier', adapter.address])) > 140)
  })

test('a target of which nothing was tried fails, and so do arguments that are none', async () => {
  await using adapter = await childAdapter('product-phone.ts')
  assert.deepEqual(await runKit(['verifier', adapter.address]), { code: 1, stdout: '0 of 0\n' })
  const { code, stdout } = await runKit(['phone'])
  assert.equal(code, 2)
  assert.match(stdout, /^Usage:/)
})
