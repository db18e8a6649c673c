import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { idPattern, makeId, type SessionId } from '@bonded/contract'
import { keyringOf } from '../../../src/adapters/keys/keyring.ts'
import { openSessionKeys, SessionKeys } from '../../../../store/src/tables/session-keys.ts'
import type { SqlValue, Statement } from '../../../../store/src/statement.ts'
import { explain } from '../../../../cli/src/program/explain.ts'
import { createSession } from '../../../../core/src/operations/session/create-session.ts'
import type { Service } from '../../../../core/src/operations/service.ts'
import { IdKeyError } from '../../../../core/src/ports/keyring.ts'
import type { Work } from '../../../../core/src/ports/work.ts'
import { harness, ROOT_KEY } from '../../../../../tests/harness/harness.ts'

const OTHER_KEY = { id: 'k2', bytes: ROOT_KEY.bytes.toReversed() }
const MINUTE = 1_763_000_000_000

/** A permutation under a new key. */
function newCipher() {
  const { idKeys } = keyringOf([ROOT_KEY])
  return idKeys.open(idKeys.create()).cipher
}

function bitsOf(id: string): bigint {
  const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
  return id
    .slice('sess_'.length)
    .split('')
    .reduce((value, digit) => value * 62n + BigInt(digits.indexOf(digit)), 0n)
}

/** Runs statements on a file until `at` of them have run. */
function drive<T>(database: DatabaseSync, work: Work<T>, statements = Number.POSITIVE_INFINITY) {
  let step = work.next()
  for (let ran = 0; step.done !== true && ran < statements; ran++) {
    const { text, values, counts } = step.value as Statement
    const named = Object.fromEntries(values.map((value, index) => [`$${index + 1}`, value]))
    const statement = database.prepare(text)
    step = work.next(
      counts
        ? Number(statement.run(named as Record<string, SqlValue>).changes)
        : statement.all(named as Record<string, SqlValue>),
    )
  }
  return step
}

test('the key of an id stays the same while thousands of other ids are used', () => {
  const cipher = newCipher()
  const keys = new SessionKeys(cipher)
  const id = keys.newId(MINUTE, randomBytes(16))
  const first = keys.of(id)
  const others = Array.from({ length: 10_000 }, (_, index) =>
    keys.newId(MINUTE + index, randomBytes(16)),
  )
  for (const other of others) assert.notEqual(keys.of(other), first)
  assert.equal(keys.of(id), first)
  assert.equal(new SessionKeys(cipher).of(id), first)
})

test('ids reveal neither the order nor the time of their sessions', () => {
  const keys = new SessionKeys(newCipher())
  const random = Buffer.alloc(16)
  const count = 20_000
  // The worst case: the time counts up, and the random bits do not help.
  const ids = Array.from({ length: count }, (_, index) => keys.newId(MINUTE + index, random))
  const bits = ids.map(bitsOf)
  assert.equal(new Set(ids).size, count)
  for (const id of ids) assert.match(id, new RegExp(idPattern('sess')))
  // Each limit is 6 standard deviations from what random numbers give.
  const limit = 6 * Math.sqrt(count / 4)
  const ascending = bits.filter((value, index) => value > (bits[index - 1] ?? 0n)).length
  // Neighbors depend on each other, so their deviation is smaller than that of independent pairs.
  assert.ok(Math.abs(ascending - count / 2) < limit, `${ascending} ascending neighbors`)
  for (let bit = 0n; bit < 128n; bit++) {
    const ones = bits.filter((value) => (value >> bit) & 1n).length
    assert.ok(Math.abs(ones - count / 2) < limit, `bit ${bit}: ${ones} ones`)
    const asTime = bits.filter((value, index) => ((value >> bit) & 1n) === BigInt(index >> 10) % 2n)
    assert.ok(Math.abs(asTime.length - count / 2) < limit, `bit ${bit} follows the time`)
    const asNext = bits.filter(
      (value, index) => (((value ^ (bits[index + 1] ?? 0n)) >> bit) & 1n) === 0n,
    )
    assert.ok(Math.abs(asNext.length - count / 2) < limit, `bit ${bit} follows its neighbor`)
  }
})

test('primary keys follow the time, and any text has one', () => {
  const keys = new SessionKeys(newCipher())
  const ids = Array.from({ length: 1_000 }, (_, index) =>
    keys.newId(MINUTE + index, randomBytes(16)),
  )
  const ordered = ids.map((id) => keys.of(id))
  assert.deepEqual(
    ordered.toSorted((a, b) => a - b),
    ordered,
  )
  const last = keys.newId(2 ** 42 - 1, Buffer.alloc(16, 255))
  assert.equal(keys.of(last), Number.MAX_SAFE_INTEGER)
  // Invented ids nearly always decrypt to a time that no clock shows.
  const invented = Array.from({ length: 1_000 }, () => makeId('sess', randomBytes(16)))
  const negative = invented.map((id) => keys.of(id)).filter((key) => key < 0)
  assert.ok(negative.length > 900, `${negative.length}`)
  for (const text of ['sess_', `sess_${'z'.repeat(22)}`, 'sess_-_é', ''])
    assert.ok(Number.isSafeInteger(keys.of(text as SessionId)), text)
})

test('an id that gives the primary key of a session, but is not its id, finds nothing', async () => {
  await using h = await harness()
  const session = await h.create()
  using database = new DatabaseSync(h.databaseFile)
  const stored = String(database.prepare('select sealed from session_id_key').get()?.sealed)
  const { cipher } = keyringOf([ROOT_KEY]).idKeys.open(stored)
  const plain = cipher.decrypt(
    Buffer.from(bitsOf(session.id).toString(16).padStart(32, '0'), 'hex'),
  )
  plain[15] = (plain[15] ?? 0) ^ 1
  const forged = { ...session, id: makeId('sess', cipher.encrypt(plain)) }
  const { value: keys } = drive(database, openSessionKeys(keyringOf([ROOT_KEY]).idKeys))
  assert.equal(
    (keys as SessionKeys).of(forged.id),
    (keys as SessionKeys).of(session.id as SessionId),
  )

  const timeline = `/sessions/${forged.id}/timeline`
  assert.equal((await h.get(forged)).status, 404)
  assert.equal((await h.api('GET', timeline, { token: h.shop.server })).status, 404)
  assert.equal((await h.kill(forged)).status, 404)
  await h.service.store.write(function* (tables) {
    yield* tables.sessions.storeOrigin(forged.id, 'https://forged.example')
    yield* tables.sessions.note(forged.id, { at: 0, kind: 'forged' })
  })
  const row = database.prepare('select requesting_origin from session').get()
  assert.equal(row?.requesting_origin, null)
  assert.equal(database.prepare('select count(*) as n from session_event').get()?.n, 1)
  assert.equal((await h.get(session)).body.state, 'pending')
})

test('creates a session under another id when the primary key is in use', async () => {
  await using h = await harness()
  const credential = await h.service.store.read((tables) =>
    tables.tenants.findServerCredential(h.shop.server.slice(8, 18)),
  )
  assert.ok(credential)
  const [same, different] = [Buffer.alloc(16, 1), Buffer.alloc(16, 2)]
  const drawn = [same, same, different]
  const service: Service = {
    ...h.service,
    random: { ...h.service.random, id: () => drawn.shift() ?? randomBytes(16) },
  }
  const create = async (idempotencyKey: string) => {
    const request = { workflow: 'credit_application', phone_number: '+491701234567' }
    const made = await createSession(
      service,
      { kind: 'backend', credential },
      { request, idempotencyKey },
    )
    assert.ok(made.ok)
    return made.value
  }
  const [first, second] = [await create('one'), await create('two')]
  assert.equal(drawn.length, 0)
  assert.notEqual(first.id, second.id)
  assert.deepEqual([(await create('one')).id, (await create('two')).id], [first.id, second.id])
  const { keys } = h.service
  for (const { id, rootKeyId, sealedPhoneNumber } of [first, second])
    assert.equal(keys.openNumber(rootKeyId, id, sealedPhoneNumber ?? '').reveal(), '+491701234567')
})

test('the key of ids outlives the root keys, and is stored encrypted under each listed one', async () => {
  await using h = await harness()
  using database = new DatabaseSync(h.databaseFile)
  const stored = () => String(database.prepare('select sealed from session_id_key').get()?.sealed)
  const keyAfter = (rootKeys: (typeof ROOT_KEY)[], id: SessionId) => {
    const { value } = drive(database, openSessionKeys(keyringOf(rootKeys).idKeys))
    return (value as SessionKeys).of(id)
  }
  const id = (await h.create()).id as SessionId
  const key = keyAfter([ROOT_KEY], id)
  const first = stored()
  assert.match(first, /^k1:[0-9A-Za-z_-]+$/)
  assert.equal(keyAfter([ROOT_KEY, OTHER_KEY], id), key)
  assert.match(stored(), /^k1:[^,]+,k2:[^,]+$/)
  assert.equal(keyAfter([OTHER_KEY, ROOT_KEY], id), key)
  assert.equal(keyAfter([OTHER_KEY], id), key)
  assert.match(stored(), /^k2:[^,:]+$/)
  const unchanged = stored()
  assert.equal(keyAfter([OTHER_KEY], id), key)
  assert.equal(stored(), unchanged)
})

test('two processes that start on a new database get the same key', async () => {
  await using h = await harness()
  using database = new DatabaseSync(h.databaseFile)
  database.exec('delete from session_id_key')
  const id = makeId('sess', randomBytes(16))
  const slow = openSessionKeys(keyringOf([ROOT_KEY]).idKeys)
  const paused = drive(database, slow, 1)
  assert.match((paused.value as Statement).text, /^insert/)
  const { value: fast } = drive(database, openSessionKeys(keyringOf([ROOT_KEY]).idKeys))
  const { text, values } = paused.value as Statement
  const { changes } = database.prepare(text).run({ $1: values[0] as string })
  assert.equal(changes, 0)
  const again = drive(database, openSessionKeys(keyringOf([ROOT_KEY]).idKeys))
  assert.equal((again.value as SessionKeys).of(id), (fast as SessionKeys).of(id))
  const rest = database.prepare('select sealed from session_id_key where number = 1').all()
  let step = slow.next(0)
  step = slow.next(rest)
  while (step.done !== true) step = slow.next([])
  assert.equal(step.value.of(id), (fast as SessionKeys).of(id))
})

test('does not start with root keys that do not open the key of ids, and names the fix', async () => {
  await using h = await harness()
  using database = new DatabaseSync(h.databaseFile)
  const sealed = String(database.prepare('select sealed from session_id_key').get()?.sealed)
  const rejectionWith = (rootKeys: readonly (typeof ROOT_KEY)[]) => {
    try {
      drive(database, openSessionKeys(keyringOf(rootKeys).idKeys))
    } catch (failure) {
      assert.ok(failure instanceof IdKeyError)
      for (const text of [inspect(failure), explain(failure).message])
        assert.ok(!text.includes(sealed.slice('k1:'.length)), text)
      return explain(failure)
    }
    assert.fail('it started')
  }
  const unlisted = rejectionWith([OTHER_KEY])
  assert.equal(unlisted.code, 'session_id_key_unusable')
  assert.match(unlisted.message, /root key k1, which is not listed\. List k1 after the active key/)
  const wrong = { id: 'k1', bytes: OTHER_KEY.bytes }
  assert.match(rejectionWith([wrong]).message, /k1 is not the key k1 .* Restore the original key/)
  assert.match(rejectionWith([OTHER_KEY, wrong]).message, /is not the key k1/)
  assert.equal(database.prepare('select sealed from session_id_key').get()?.sealed, sealed)
  for (const line of h.lines) assert.ok(!line.includes(sealed.slice('k1:'.length)))
})
