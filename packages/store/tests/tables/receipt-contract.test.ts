import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SessionId, SubjectId, TenantId } from '@bonded/contract'
import type { Session } from '../../../core/src/domain/session.ts'
import type { StoredReceipt } from '../../../core/src/ports/tables/receipt-table.ts'
import { MOVES } from '../../../core/src/protocol/states.ts'
import { cachedDriver, memoryDriver, postgresDriver, sqlDriver } from './table-drivers.ts'
import {
  newDevice,
  newSession,
  NOW,
  registerDevices,
  SESSIONS,
  TENANTS,
} from './table-operations.ts'

const [one, other] = SESSIONS as [SessionId, SessionId]
const [tenantId] = TENANTS as [TenantId]

const DRIVERS =
  process.env.TEST_STORE === 'postgres'
    ? ([['PostgreSQL', postgresDriver]] as const)
    : ([
        ['SQL', sqlDriver],
        ['cached', cachedDriver],
        ['memory', memoryDriver],
      ] as const)

function receipt(sessionId: SessionId, given: Partial<StoredReceipt> = {}): StoredReceipt {
  return {
    sessionId,
    state: 'bonded',
    tenantId,
    workflow: 'w',
    action: 'a',
    browserCommitment: null,
    jws: `jws of ${sessionId}`,
    madeAt: NOW,
    logIndex: null,
    ...given,
  }
}

for (const [kind, open] of DRIVERS) {
  test(`${kind} tables: the first receipt of a state remains, and that of the completion is found`, async () => {
    await using driver = await open()
    const completed = receipt(one, { state: 'completed', madeAt: NOW + 2, jws: 'completed' })
    await driver.write(function* ({ receipts }) {
      yield* receipts.add(receipt(one))
      yield* receipts.add(receipt(one, { jws: 'second' }))
      yield* receipts.add(receipt(other, { madeAt: NOW + 1 }))
    })
    const find = () => driver.read(({ receipts }) => receipts.find(one))
    assert.equal((await find())?.jws, 'jws of sess_a')
    await driver.write(({ receipts }) => receipts.add(completed))
    assert.deepEqual(await find(), completed)
    const unlogged = (limit: number) =>
      driver.read(function* ({ receipts }) {
        return (yield* receipts.unlogged(limit)).map(({ jws }) => jws)
      })
    assert.deepEqual(await unlogged(2), ['jws of sess_a', 'jws of sess_b'])
    await driver.write(({ receipts }) => receipts.setLogIndex(receipt(one), 7))
    assert.deepEqual(await unlogged(9), ['jws of sess_b', 'completed'])
    await driver.write(({ receipts }) => receipts.setLogIndex(completed, 8))
    assert.equal((await find())?.logIndex, 8)
  })

  test(`${kind} tables: the log grows from the size that was read, and its checkpoint with it`, async () => {
    await using driver = await open()
    const head = () => driver.read(({ receiptLog }) => receiptLog.head())
    assert.deepEqual([(await head()).size, (await head()).checkpoint], [0, ''])
    const tile = {
      level: 0,
      index: 0,
      hashes: Uint8Array.of(1, 2),
      entries: Uint8Array.of(3, 4),
    }
    const append = (before: number, size: number) =>
      driver.write(({ receiptLog }) =>
        receiptLog.append({ before, size, auditSize: 0, tiles: [tile], now: NOW }),
      )
    assert.deepEqual(
      [await append(0, 2), await append(0, 1), await append(2, 3)],
      [true, false, true],
    )
    assert.equal((await head()).size, 3)
    assert.deepEqual(await driver.read(({ receiptLog }) => receiptLog.tile(0, 0)), tile)
    assert.equal(await driver.read(({ receiptLog }) => receiptLog.tile(0, 1)), undefined)

    const sign = (checkpoint: string, size: number, epoch = '') =>
      driver.write(({ receiptLog }) => receiptLog.storeCheckpoint(checkpoint, { epoch, size }))
    // One that covers more than there is, one of another log, and one that is older.
    for (const [text, size, epoch] of [
      ['too large', 4, ''],
      ['another log', 3, 'e'],
      ['right', 3, ''],
      ['older', 2, ''],
    ] as const)
      await sign(text, size, epoch)
    assert.deepEqual([(await head()).checkpoint, (await head()).checkpointSize], ['right', 3])

    const claim = (now: number, until: number) =>
      driver.write(({ receiptLog }) => receiptLog.claimWitnesses({ now, until }))
    assert.deepEqual(
      [await claim(5, 9), await claim(8, 12), await claim(9, 12)],
      [true, false, true],
    )
    const cosign = (text: string, size: number, epoch = '') =>
      driver.write(({ receiptLog }) => receiptLog.storeCosigned(text, { epoch, size, now: NOW }))
    await cosign('cosigned', 3)
    await cosign('fewer entries', 2)
    await cosign('another log', 3, 'e')
    assert.deepEqual([(await head()).cosigned, (await head()).cosignedAt], ['cosigned', NOW])
  })

  test(`${kind} tables: a log is closed once, as of its checkpoint, and none signs a refused one`, async () => {
    await using driver = await open()
    await driver.write(function* ({ receiptLog }) {
      yield* receiptLog.append({ before: 0, size: 2, auditSize: 0, tiles: [], now: NOW })
      yield* receiptLog.storeCheckpoint('one entry', { epoch: '', size: 1 })
      yield* receiptLog.refuse('e', 'another log')
      yield* receiptLog.refuse('', 'why')
      yield* receiptLog.storeCheckpoint('two entries', { epoch: '', size: 2 })
    })
    const head = () => driver.read(({ receiptLog }) => receiptLog.head())
    assert.deepEqual([(await head()).refused, (await head()).checkpoint], ['why', 'one entry'])
    const close = (nextEpoch: string) =>
      driver.write(({ receiptLog }) =>
        receiptLog.close({ epoch: '', nextEpoch, reason: 'restore', now: NOW }),
      )
    assert.deepEqual([await close('e'), await close('f')], [true, false])
    await driver.write(({ receiptLog }) => receiptLog.storeStatement('', 'statement'))
    await driver.write(({ receiptLog }) => receiptLog.storeStatement('', 'second'))
    assert.deepEqual(await driver.read(({ receiptLog }) => receiptLog.closed()), [
      {
        epoch: '',
        nextEpoch: 'e',
        checkpoint: 'one entry',
        checkpointSize: 1,
        cosigned: '',
        cosignedSize: 0,
        closedAt: NOW,
        reason: 'restore',
        statement: 'statement',
      },
    ])
    const { epoch, begunAt, refused, size, checkpoint } = await head()
    assert.deepEqual([epoch, begunAt, refused, size, checkpoint], ['e', NOW, '', 2, ''])
  })

  test(`${kind} tables: an inbox has what waits for its subject and this phone, newest first`, async () => {
    await using driver = await open()
    await driver.write(registerDevices)
    const inboxSubjectId = 'sub_a' as SubjectId
    const inInbox = (id: SessionId, given: Partial<Session>): Session => ({
      ...newSession(id),
      inboxSubjectId,
      ...given,
    })
    const later = inInbox(other, { createdAt: NOW + 1 })
    const cause = { requestId: 'req_a' as never, keyId: 'key_a' }
    await driver.write(function* ({ sessions }) {
      yield* sessions.create(inInbox(one, {}))
      yield* sessions.create(later)
      yield* sessions.create({ ...newSession('sess_c' as SessionId), createdAt: NOW })
      yield* sessions.countRequest(inInbox(one, {}), 'asked')
      yield* sessions.countRequest(later, 'asked')
    }, cause)
    const waiting = (device = 0, from = NOW) =>
      driver.read(function* ({ sessions }) {
        const query = { device: newDevice(device), from, now: NOW + 1 }
        const found = yield* sessions.waiting(query)
        assert.equal(yield* sessions.countWaiting(query), found.length)
        return found.map(({ id }) => id)
      })
    assert.deepEqual(await waiting(), [other, one])
    assert.deepEqual(await waiting(0, NOW + 1), [other])
    assert.deepEqual(await waiting(2), [])
    const asked = () =>
      driver.read(({ sessions }) =>
        sessions.askedSince({
          tenantId,
          subjectId: inboxSubjectId,
          caller: 'key_a',
          now: NOW + 1,
        }),
      )
    assert.deepEqual(await asked(), { approval: 2, answer: 2 })
    // The second phone of the subject opens one, and the subject declines it.
    await driver.write(function* ({ sessions }) {
      const claim = { now: NOW + 1, deviceId: newDevice(1).id, nonce: 'n', claimedAt: NOW + 1 }
      const claimed = (yield* sessions.claim(later, claim)) ?? assert.fail('it is not claimed')
      assert.deepEqual((yield* sessions.waiting(queryOf(0))).length, 1)
      yield* sessions.move(claimed, MOVES.decline, { now: NOW + 1 })
      yield* sessions.countRequest(later, 'declined')
    })
    assert.deepEqual([await waiting(0), await waiting(1)], [[one], [one]])
    assert.deepEqual(await asked(), { approval: 2, answer: 0 })
    await driver.write(({ sessions }) => sessions.countRequest(later, 'approved'))
    assert.deepEqual(await asked(), { approval: 0, answer: 0 })
    const past = await driver.read(({ sessions }) =>
      sessions.inboxHistory(tenantId, inboxSubjectId, NOW + 1),
    )
    assert.deepEqual(
      new Map(past.map(({ id, caller }) => [id, caller])),
      new Map([one, other].map((id) => [id, 'key_a'])),
    )
  })
}

function queryOf(device: number) {
  return { device: newDevice(device), from: NOW, now: NOW + 1 }
}
