import { after, test } from 'node:test'
import { pendingStoreSuite } from '../src/pending/pending-store-suite.ts'
import { redisPendingStore } from '../src/pending/redis.ts'
import { redisMissing, startRedis } from './redis-server.ts'

const redis = redisMissing === false ? await startRedis() : undefined
after(() => redis?.close())
async function openRedis() {
  await redis?.send(['FLUSHALL'])
  return redisPendingStore((command) => redis!.send(command))
}
for (const { name, run } of pendingStoreSuite(openRedis))
  test(`redis: ${name}`, { skip: redisMissing }, run)
