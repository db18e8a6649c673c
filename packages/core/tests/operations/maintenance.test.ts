import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CredentialUse } from '../../src/collections/credential-use.ts'
import type { Due } from '../../src/domain/retention.ts'
import { listSessions } from '../../src/operations/admin/list-sessions.ts'
import { rollKey, undoRoll } from '../../src/operations/admin/roll-key.ts'
import { checkReadiness } from '../../src/operations/maintenance/check-readiness.ts'
import { expireSessions } from '../../src/operations/maintenance/expire-sessions.ts'
import { publishExternalChanges } from '../../src/operations/maintenance/publish-external-changes.ts'
import { purgeLogs, purgeSessions } from '../../src/operations/maintenance/purge-sessions.ts'
import { shareLimits } from '../../src/operations/maintenance/share-limits.ts'
import { watchCredentials } from '../../src/operations/session/watch-credentials.ts'
import { MOVES } from '../../src/protocol/states.ts'
import { CREATED_AT as NOW, SESSION_ID, sessionWith, TENANT_ID } from '../records.ts'
import { serviceOver } from './stub-service.ts'

/*
 * What the work in the background asks of the store: each time, each number and each kind in its
 * place. A store with few rows answers the same to a wrong question.
 */
const HOUR = 60 * 60_000
const DAY = 24 * HOUR

/** Runs the purge over a store that answers so. @returns the calls of the store, and the batch */
async function purge(
  settings: object,
  answers: { small?: number; counts?: boolean; ended?: number },
) {
  const { small = 0, counts = false, ended = 0 } = answers
  const calls: unknown[][] = []
  const call =
    (name: string, value: unknown) =>
    (...given: unknown[]) => {
      calls.push([name, ...given])
      return value
    }
  const service = serviceOver(
    {
      devices: { purgeChallenges: call('challenges', 0) },
      idempotency: { purge: call('idempotency', small) },
      purge: call('purge', 0),
      totals: { count: call('count', counts) },
      sessions: {
        purge: call('sessions', Array.from({ length: ended })),
        purgeCallers: call('callers', 'sub_9'),
      },
    },
    { settings },
  )
  return { batch: await purgeSessions(service), calls, service }
}

test('each kind of row is purged at its own time', async () => {
  const { batch, calls, service } = await purge(
    { receiptRetentionMs: 5, rejectionRetentionMs: 6 },
    { ended: 3 },
  )
  const dueOf = (min: number, max: number, usualMs: number, limit = 200): Due => ({
    min,
    max,
    now: NOW,
    usualMs,
    limit,
  })
  assert.deepEqual(calls, [
    ['challenges', NOW, 200],
    ['idempotency', NOW - 150 * 60_000, 200],
    ['purge', 'deliveries', dueOf(1, 365, 30 * DAY)],
    ['purge', 'receipts', dueOf(1, 3_650, 5)],
    ['purge', 'reasons', dueOf(1, 365, 6)],
    ['count', NOW - 60_000, 2_000],
    ['sessions', dueOf(1, 30, DAY, 50)],
    ['callers', '', NOW],
  ])
  assert.deepEqual(batch, { done: 3, more: false })
  calls.length = 0
  await purgeSessions(service)
  assert.deepEqual(calls.at(-1), ['callers', 'sub_9', NOW])
  const usual = await purge({}, {})
  assert.deepEqual(
    usual.calls.slice(3, 5).map(([, , due]) => (due as Due).usualMs),
    [30 * DAY, 30 * DAY],
  )
})

test('a purge goes on while a batch is full, and deletes no session before it is counted', async () => {
  const names = (calls: unknown[][]) => calls.map(([name]) => name)
  const full = await purge({}, { ended: 50 })
  assert.deepEqual(
    [full.batch, names(full.calls).includes('callers')],
    [{ done: 50, more: true }, false],
  )
  const small = await purge({}, { small: 200, ended: 1 })
  assert.deepEqual(small.batch, { done: 1, more: true })
  const counting = await purge({}, { counts: true, ended: 1 })
  assert.deepEqual(counting.batch, { done: 0, more: true })
  assert.ok(!names(counting.calls).includes('sessions'))
})

test('logs and totals are purged at their own times', async () => {
  const run = async (settings: object, [hours, leaves, entries]: readonly number[]) => {
    const calls: unknown[][] = []
    const service = serviceOver(
      {
        totals: { purge: (...given: unknown[]) => (calls.push(['totals', ...given]), hours) },
        receiptLog: { prune: (...given: unknown[]) => (calls.push(['log', ...given]), leaves) },
        audit: {
          due: (due: Due) => (
            calls.push(['audit', due]),
            Array.from({ length: entries ?? 0 }, () => ({ contentHash: 'aa' }))
          ),
          empty: (_: object, contentHash: string) => void calls.push(['empty', contentHash]),
          dropEmpty: () => void calls.push(['drop']),
        },
      },
      { settings, keys: { sha256Bytes: () => new Uint8Array(32) } },
    )
    return { batch: await purgeLogs(service), calls }
  }
  const { batch, calls } = await run({}, [1, 1, 1])
  assert.deepEqual(calls, [
    ['totals', NOW - 400 * DAY, 200],
    ['log', NOW - 3_650 * DAY, 200],
    ['audit', { min: 365, max: 3_650, now: NOW, usualMs: 3_650 * DAY, limit: 200 }],
    ['empty', 'aa'],
    ['drop'],
  ])
  assert.deepEqual(batch, { done: 0, more: false })
  const own = await run({ logRetentionMs: 7 }, [199, 199, 0])
  assert.deepEqual(
    [own.batch.more, own.calls[1], own.calls.length],
    [false, ['log', NOW - 7, 200], 3],
  )
  for (const counts of [
    [200, 0, 0],
    [0, 200, 0],
    [0, 0, 200],
  ])
    assert.equal((await run({}, counts)).batch.more, true)
})

test('a key is rolled into one of the same kind, name, scope and lifetime', async () => {
  const roll = async (members: object) => {
    const calls: unknown[][] = []
    const note =
      (name: string, value: unknown = true) =>
      (...given: unknown[]) => {
        calls.push([name, ...given])
        return value
      }
    const old = {
      tenantId: TENANT_ID,
      scope: null,
      revokedAt: null,
      createdAt: NOW - DAY,
      ...members,
    }
    const service = serviceOver(
      {
        tenants: {
          findKey: () => old,
          revoke: note('revoke'),
          unrevoke: note('unrevoke'),
          addServerCredential: note('server'),
          addPublishableKey: note('publishable'),
        },
      },
      {
        random: { base62: (digits: number) => 'x'.repeat(digits) },
        keys: { digest: () => new Uint8Array(32) },
      },
    )
    const rolled = await rollKey(service, { key: 'old', graceMs: HOUR })
    await undoRoll(service, { ...rolled, replaces: 'old' })
    return { rolled, calls, row: calls[1]?.[1] as Record<string, unknown> }
  }
  const scope = [{ workflow: 'wire', actions: null }]
  const server = await roll({ kind: 'server', name: 'ci', scope, expiresAt: NOW + DAY })
  const { endsAt, expiresAt, oldExpiresAt } = server.rolled
  assert.deepEqual([endsAt, expiresAt, oldExpiresAt], [NOW + HOUR, NOW + 2 * DAY, NOW + DAY])
  const { tenantId, name, scope: given, now, expiresAt: end } = server.row
  assert.deepEqual([tenantId, name, given, now, end], [TENANT_ID, 'ci', scope, NOW, NOW + 2 * DAY])
  assert.deepEqual(
    server.calls.filter(([called]) => /revoke/.test(String(called))),
    [
      ['revoke', 'old', NOW + HOUR],
      ['revoke', server.rolled.key, NOW],
      ['unrevoke', 'old', { from: NOW + HOUR, expiresAt: NOW + DAY }],
    ],
  )
  const soon = await roll({ kind: 'server', name: null, expiresAt: NOW + 60_000 })
  assert.deepEqual([soon.rolled.endsAt, soon.row.name], [NOW + 60_000, undefined])
  const endless = await roll({ kind: 'server', name: null, expiresAt: null })
  assert.deepEqual([endless.rolled.expiresAt, endless.rolled.endsAt], [null, NOW + HOUR])
  const publishable = await roll({ kind: 'publishable', name: 'page', scope, expiresAt: null })
  assert.deepEqual(publishable.row, {
    key: `pk_beta_${'x'.repeat(22)}`,
    tenantId: TENANT_ID,
    name: 'page',
    scope,
    now: NOW,
  })
  assert.equal(publishable.rolled.secret.reveal(), publishable.rolled.key)
})

test('a page of sessions ends at its limit, and names where the next one begins', async () => {
  const session = (id: string) => sessionWith({ id: id as typeof SESSION_ID, expiresAt: NOW })
  const list = async (ids: string[]) => {
    const asked: object[] = []
    const service = serviceOver({
      sessions: {
        list: (query: object) => {
          asked.push(query)
          return { sessions: ids.map(session), readTo: 'read' }
        },
      },
    })
    const given = {
      state: 'pending',
      after: 'z' as typeof SESSION_ID,
      limit: 2,
      tenantId: TENANT_ID,
    }
    const { sessions, next } = await listSessions(service, given as never)
    assert.deepEqual(asked, [
      { tenantId: TENANT_ID, state: { is: 'pending', at: NOW }, before: 'z', limit: 3 },
    ])
    return [sessions.map((each) => `${each.session.id} ${each.state}`), next]
  }
  assert.deepEqual(await list(['c', 'b', 'a']), [['c expired', 'b expired'], 'b'])
  assert.deepEqual(await list(['b', 'a']), [['b expired', 'a expired'], 'read'])
})

test('credentials that expire are looked for from a week ago to two weeks ahead', async () => {
  const calls: unknown[][] = []
  let measured = 0
  const use = new CredentialUse()
  use.note('a', 5)
  const service = serviceOver(
    {
      tenants: {
        recordUse: (...given: unknown[]) => void calls.push(['use', ...given]),
        listExpiring: (...given: unknown[]) => (calls.push(['list', ...given]), [1, 2, 3]),
      },
    },
    {
      credentialUse: use,
      meter: { measuredCredentials: (count: number) => void (measured = count) },
    },
  )
  const { expiring } = await watchCredentials(service)
  assert.deepEqual(calls, [
    ['use', 'a', 5],
    ['list', NOW - 7 * DAY, NOW + 14 * DAY],
  ])
  assert.deepEqual([expiring, measured], [[1, 2, 3], 3])
})

test('a node is not ready for each of its reasons, and for no other', async () => {
  const check = async (
    latest: object | undefined | Error,
    parts: object = {},
    store: object = {},
  ) => {
    const failed: string[] = []
    const service = serviceOver(
      {
        sessions: {
          latest: () => {
            if (latest instanceof Error) throw latest
            return latest
          },
        },
      },
      {
        meter: { failed: (cause: string) => failed.push(cause) },
        keys: { holds: (id: string) => id === 'k1' },
        startedAt: NOW - 10,
        shutdown: { isAnnounced: false },
        ...parts,
      },
    )
    Object.assign(service.store, { health: async () => [], hasClock: false, ...store })
    const unready = await checkReadiness(service)
    assert.deepEqual(failed, unready)
    return unready
  }
  const made = (createdAt: number, rootKeyId = 'k1') => ({ createdAt, rootKeyId })
  assert.deepEqual(await check(undefined), [])
  assert.deepEqual(await check(made(NOW + 1_000)), [])
  assert.deepEqual(await check(made(NOW + 1_001)), ['clock_behind'])
  assert.deepEqual(await check(made(NOW + 1_001), {}, { hasClock: true }), [])
  assert.deepEqual(await check(made(NOW - 10, 'k2')), ['keys_unknown'])
  assert.deepEqual(await check(made(NOW - 11, 'k2')), [])
  assert.deepEqual(await check(new Error('down')), ['store_unreadable'])
  const full = { health: async () => ['disk_full'] }
  assert.deepEqual(await check(new Error('down'), {}, full), ['disk_full', 'store_unreadable'])
  const announced = { shutdown: { isAnnounced: true } }
  assert.deepEqual(await check(made(NOW + 5_000), announced, full), ['draining'])
})

test('a round that was not needed is quiet, and a full one is followed by another', async () => {
  const exchange = (result: string | undefined) =>
    shareLimits({ peers: { exchange: async () => result } } as never)
  assert.deepEqual(await exchange('silent'), { done: 0, more: false, quiet: true })
  assert.deepEqual(await exchange('ok'), { done: 0, more: false, quiet: false })
  const publish = async (events: string[], isNotified: boolean | undefined) => {
    const published: string[] = []
    const batch = await publishExternalChanges({
      store: { externalChanges: async () => events, isNotified: () => isNotified },
      bus: { publish: (event: string) => published.push(event) },
    } as never)
    assert.deepEqual(published, events)
    return [batch.done, batch.quiet]
  }
  assert.deepEqual(await publish([], true), [0, true])
  assert.deepEqual(await publish([], undefined), [0, false])
  assert.deepEqual(await publish(['a', 'b'], true), [2, false])
  const expire = async (count: number) => {
    const moves: unknown[][] = []
    const overdue = Array.from({ length: count }, () => sessionWith())
    const service = serviceOver({
      sessions: {
        overdue: (at: number, limit: number) => (assert.equal(at, NOW), overdue.slice(0, limit)),
        move: (...given: unknown[]) => void moves.push(given.slice(1)),
      },
    })
    const batch = await expireSessions(service)
    assert.ok(
      moves.every(
        ([move, change]) => move === MOVES.expire && (change as { now: number }).now === NOW,
      ),
    )
    return [batch.done, batch.more, moves.length]
  }
  assert.deepEqual(
    [await expire(0), await expire(49), await expire(51)],
    [
      [0, false, 0],
      [49, false, 49],
      [50, true, 50],
    ],
  )
})
