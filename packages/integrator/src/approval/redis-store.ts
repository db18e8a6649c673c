import { GateError } from '../errors.ts'
import type { RedisCommand } from '../pending/redis.ts'
import { requireOptions } from '../required.ts'
import {
  type ApprovalState,
  type ApprovalStore,
  type StoredApproval,
  UNFINISHED,
} from './approval-store.ts'

const FIELDS = ['id', 'data', 'state', 'changed_at', 'expires_at', 'lookup'] as const

/** Without these, a lost row would run twice. */
const SETTINGS = {
  appendonly: 'yes',
  appendfsync: 'always',
  'maxmemory-policy': 'noeviction',
}

const PUT = `if redis.call('exists', KEYS[1]) == 1 then return 0 end
redis.call('hset', KEYS[1], unpack(ARGV, 3))
redis.call('zadd', KEYS[2], ARGV[1], ARGV[2])
redis.call('zadd', KEYS[3], ARGV[1], ARGV[2])
return 1`

const MOVE = `if redis.call('hget', KEYS[1], 'state') ~= ARGV[1] then return 0 end
redis.call('hset', KEYS[1], 'state', ARGV[2], 'changed_at', ARGV[3])
redis.call(ARGV[4], KEYS[2], ARGV[5])
return 1`

const REMOVE = `if redis.call('sismember', KEYS[3], ARGV[1]) == 1 then return 0 end
redis.call('zrem', KEYS[2], ARGV[1])
redis.call('zrem', KEYS[4], ARGV[1])
return redis.call('del', KEYS[1])`

/**
 * A store on Redis 4 or later: one server that writes each change to its disk. A replica that takes
 * over may lack the last changes, so do not let one take over by itself.
 *
 * @throws {GateError} `invalid_configuration` unless `appendonly` is `yes`, `appendfsync` is
 * `always`, and `maxmemory-policy` is `noeviction`
 * @example const store = await redisApprovalStore((command) => client.sendCommand(command))
 */
export async function redisApprovalStore(
  send: RedisCommand,
  { prefix = 'bonded:{approval}:' } = {},
): Promise<ApprovalStore> {
  requireOptions('redisApprovalStore', { send }, { send: 'a function' })
  for (const [name, wanted] of Object.entries(SETTINGS)) {
    const reply = await send(['CONFIG', 'GET', name])
    // A client of RESP3 makes an object of the reply.
    const value = Array.isArray(reply) ? reply[1] : (reply as Record<string, unknown>)[name]
    if (value !== wanted)
      throw new GateError(
        'invalid_configuration',
        `Redis could lose that an action runs, and it would run twice: set ${name} to ${wanted}.`,
      )
  }
  const keyOf = (id: string) => `${prefix}${id}`
  const keyOfLookup = (lookup: string) => `${prefix}lookup:${lookup}`
  const [expiry, unfinished] = [`${prefix}expiry`, `${prefix}unfinished`]
  const run = async (script: string, keys: readonly string[], values: readonly string[]) =>
    Number(await send(['EVAL', script, String(keys.length), ...keys, ...values]))
  const find = async (id: string): Promise<StoredApproval | undefined> => {
    const values = (await send(['HMGET', keyOf(id), ...FIELDS])) as readonly (string | null)[]
    const [, data = null, state, changed_at, expires_at, lookup] = values
    if (data === null) return undefined
    const times = { changed_at: Number(changed_at), expires_at: Number(expires_at) }
    return { id, data, state: state as ApprovalState, ...times, lookup: String(lookup) }
  }
  const remove = async (id: string) => {
    const lookup = keyOfLookup(String((await find(id))?.lookup))
    return run(REMOVE, [keyOf(id), expiry, unfinished, lookup], [id])
  }
  const findAll = async (ids: unknown) => {
    const rows = await Promise.all(Array.from(ids as Iterable<string>, find))
    return rows.filter((row) => row !== undefined)
  }

  return {
    async put(row) {
      const fields = FIELDS.flatMap((name) => [name, String(row[name])])
      const keys = [keyOf(row.id), expiry, keyOfLookup(row.lookup)]
      await run(PUT, keys, [String(row.expires_at), row.id, ...fields])
    },
    find,
    async withLookup(lookup) {
      return findAll(await send(['ZREVRANGE', keyOfLookup(lookup), '0', '-1']))
    },
    async move(id, from, to, at) {
      const change = UNFINISHED.includes(to) ? 'sadd' : 'srem'
      return (await run(MOVE, [keyOf(id), unfinished], [from, to, String(at), change, id])) === 1
    },
    async unfinished() {
      return findAll(await send(['SMEMBERS', unfinished]))
    },
    async remove(id) {
      await remove(id)
    },
    async removeExpired(before) {
      const old = await send(['ZRANGEBYSCORE', expiry, '-inf', `(${before}`])
      let removed = 0
      for (const id of old as readonly string[]) removed += await remove(id)
      return removed
    },
  }
}
