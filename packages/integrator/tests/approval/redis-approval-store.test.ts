import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { redisApprovalStore } from '../../src/approval/approval.ts'
import { approvalStoreSuite } from '../../src/approval/approval-store-suite.ts'
import { redisMissing, startRedis } from '../redis-server.ts'

const redis = redisMissing === false ? await startRedis() : undefined
after(() => redis?.close())
const send = (command: readonly string[]) => redis!.send(command)

/** The settings that keep a running row. */
const SAFE = { appendonly: 'yes', appendfsync: 'always', 'maxmemory-policy': 'noeviction' }
const setAll = async (settings: Readonly<Record<string, string>>) => {
  for (const [name, value] of Object.entries(settings)) await send(['CONFIG', 'SET', name, value])
}

async function openRedis() {
  await setAll(SAFE)
  await send(['FLUSHALL'])
  return redisApprovalStore(send)
}
for (const { name, run } of approvalStoreSuite(openRedis))
  test(`redis: ${name}`, { skip: redisMissing }, run)

for (const [name, value] of [
  ['appendonly', 'no'],
  ['appendfsync', 'everysec'],
  ['maxmemory-policy', 'allkeys-lru'],
] as const)
  test(`redis: refuses ${name} ${value}`, { skip: redisMissing }, async () => {
    await setAll({ ...SAFE, [name]: value })
    await assert.rejects(redisApprovalStore(send), {
      code: 'invalid_configuration',
      message: new RegExp(`set ${name} to ${SAFE[name]}`),
    })
  })

test('redis: refuses a server that does not show its settings', async () => {
  await assert.rejects(
    redisApprovalStore(async () => []),
    { code: 'invalid_configuration' },
  )
})

test('redis: reads the settings from a client of RESP3', { skip: redisMissing }, async () => {
  await setAll(SAFE)
  const resp3 = async (command: readonly string[]) => {
    const reply = await send(command)
    return command[0] === 'CONFIG' ? Object.fromEntries([reply as [string, string]]) : reply
  }
  assert.ok(await redisApprovalStore(resp3))
})
