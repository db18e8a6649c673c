import { requireOptions } from '../required.ts'
import type { PendingStore } from './pending-store.ts'
import { COLUMNS, fromStored, toStored } from './row.ts'

/**
 * Sends one command and returns its reply: `(command) => client.sendCommand(command)` with
 * node-redis, `([name, ...rest]) => client.call(name, ...rest)` with ioredis.
 */
export type RedisCommand = (command: [string, ...string[]]) => Promise<unknown>

/** The transaction of the Redis store. Your own database has another one. */
export interface RedisTransaction {
  /** Runs when the work rejects: the bond is then unused again. */
  onRollback(undo: () => Promise<unknown>): void
}

/** A repetition must not undo a use. */
const PUT = `if redis.call('exists', KEYS[1]) == 1 then return 0 end
redis.call('hset', KEYS[1], unpack(ARGV, 3))
redis.call('zadd', KEYS[2], ARGV[1], ARGV[2])
return 1`

const USE = `local row = redis.call('hmget', KEYS[1], 'owner', 'used_at')
if row[1] ~= ARGV[1] or row[2] ~= '' then return 0 end
redis.call('hset', KEYS[1], 'used_at', ARGV[2])
return 1`

/** The row may be gone meanwhile, and must not come back without its other fields. */
const RELEASE = `if redis.call('hget', KEYS[1], 'used_at') ~= ARGV[1] then return 0 end
redis.call('hset', KEYS[1], 'used_at', '')
return 1`

const REMOVE = `redis.call('del', KEYS[1])
return redis.call('zrem', KEYS[2], ARGV[1])`

/**
 * A pending store on Redis 4 or later. Redis and your own database have no common transaction: a
 * process that ends between the use and the action leaves the bond used, and nothing was done.
 *
 * Never let Redis evict these keys (`maxmemory-policy noeviction`), and set `appendfsync`: a lost
 * row rejects its bond, and a lost use would allow a second one.
 *
 * @example const store = redisPendingStore((command) => client.sendCommand(command))
 */
export function redisPendingStore(
  send: RedisCommand,
  { prefix = 'bonded:{bond}:' } = {},
): PendingStore<RedisTransaction> {
  requireOptions('redisPendingStore', { send }, { send: 'a function' })
  const keyOf = (session_id: string) => `${prefix}${session_id}`
  const index = `${prefix}expiry`
  const run = async (script: string, keys: readonly string[], values: readonly string[]) =>
    Number(await send(['EVAL', script, String(keys.length), ...keys, ...values]))

  return {
    async put(row) {
      const stored = toStored(row)
      // Redis has no null. No column has an empty text.
      const fields = COLUMNS.flatMap((name) => [name, stored[name] ?? ''])
      const values = [String(Date.parse(row.expires_at)), row.session_id, ...fields]
      await run(PUT, [keyOf(row.session_id), index], values)
    },

    async find(session_id) {
      const values = (await send(['HMGET', keyOf(session_id), ...COLUMNS])) as readonly unknown[]
      if (values[0] === null) return undefined
      const texts = values.map((value) => (value === '' ? null : value))
      return fromStored(Object.fromEntries(COLUMNS.map((name, at) => [name, texts[at]])))
    },

    async transaction(work) {
      const undos: (() => Promise<unknown>)[] = []
      try {
        return await work({ onRollback: (undo) => void undos.push(undo) })
      } catch (error) {
        // A bond that Redis cannot release stays used. The action's error is the one to report.
        await Promise.allSettled(undos.map((undo) => undo()))
        throw error
      }
    },

    async use({ session_id, owner, used_at }, tx) {
      const isUsed = (await run(USE, [keyOf(session_id)], [owner, used_at])) === 1
      if (isUsed) tx.onRollback(() => run(RELEASE, [keyOf(session_id)], [used_at]))
      return isUsed
    },

    async removeExpired(before) {
      const max = `(${Date.parse(before)}`
      const expired = (await send(['ZRANGEBYSCORE', index, '-inf', max])) as readonly string[]
      let removed = 0
      for (const id of expired) removed += await run(REMOVE, [keyOf(id), index], [id])
      return removed
    },
  }
}
