import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import {
  memoryApprovalStore,
  redisApprovalStore,
  sqliteApprovalStore,
} from '../../src/approval/approval.ts'
import { redisMissing, startRedis } from '../redis-server.ts'
import { survivesFaults } from './histories.ts'

const redis = redisMissing === false ? await startRedis() : undefined
after(() => redis?.close())
async function openRedis() {
  for (const [name, value] of [
    ['appendonly', 'yes'],
    ['appendfsync', 'always'],
  ] as const)
    await redis?.send(['CONFIG', 'SET', name, value])
  return redisApprovalStore((command) => redis!.send(command))
}

const FAULTS_IN_MEMORY = 10_000
/** Redis waits for the disk with each change. */
const FAULTS_ON_DISK = 1_000

for (const [name, open, faults, skip] of [
  ['memory', memoryApprovalStore, FAULTS_IN_MEMORY, false],
  ['sqlite', () => sqliteApprovalStore(new DatabaseSync(':memory:')), FAULTS_IN_MEMORY, false],
  ['redis', openRedis, FAULTS_ON_DISK, redisMissing],
] as const)
  test(`${name}: no fault runs an action twice, or hides its outcome`, { skip }, async () => {
    await survivesFaults(name, await open(), faults)
  })
