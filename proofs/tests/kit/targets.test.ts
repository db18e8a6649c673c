import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freePort } from '../../../packages/store/tests/servers/free-port.ts'
import { CREATE_TENANT, machine } from '../../../tests/harness/process.ts'
import { report, runCases } from '../../kit/src/cases.ts'
import { readVectors, VECTORS } from '../../kit/src/verifier.ts'
import { findPython } from '../../../packages/python/tests/python.ts'
import { childAdapter, pythonAdapter } from './child-adapter.ts'
import { keptBy, runKit } from './run-kit.ts'

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

test('a report names the rules at which a target has stopped, and counts them as kept', async () => {
  const results = await runCases(
    {
      kept: async () => {},
      'not tried': async () => 'stopped',
      broken: () => Promise.reject(new Error('no')),
    },
    undefined,
  )
  assert.deepEqual(report(results), [
    'not kept  broken\n          no',
    'stopped   not tried',
    '2 of 3',
  ])
})

test('a target of which nothing was tried fails, and so do arguments that are none', async () => {
  await using adapter = await childAdapter('product-phone.ts')
  assert.deepEqual(await runKit(['verifier', adapter.address]), { code: 1, stdout: '0 of 0\n' })
  const { code, stdout } = await runKit(['phone'])
  assert.equal(code, 2)
  assert.match(stdout, /^Usage:/)
})
