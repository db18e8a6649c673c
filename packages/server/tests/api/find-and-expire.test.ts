import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { parseId } from '@bonded/contract'
import { keyringOf } from '../../src/adapters/keys/keyring.ts'
import { findAndExpireWatchedSession } from '../../../core/src/operations/session/find-and-expire.ts'
import type { Tables } from '../../../core/src/ports/store.ts'
import { harness } from '../../../../tests/harness/harness.ts'

const h = await harness()
after(() => h[Symbol.asyncDispose]())

test('a wrong watch token is rejected without a read from the store', async () => {
  const [session, other] = [await h.create(), await h.create()]
  const id = parseId('sess', session.id)
  assert.ok(id)
  const foreign = keyringOf([{ id: 'k1', bytes: new Uint8Array(32) }])
  const tables = {
    sessions: { find: () => assert.fail('the session was read') },
  } as unknown as Tables
  const search = (watchToken: string | undefined) =>
    findAndExpireWatchedSession(h.service, tables, {
      id,
      key: null,
      watchToken,
    }).next()
  for (const watchToken of [
    undefined,
    '',
    other.watch_token,
    `${session.watch_token}A`,
    session.watch_token.toUpperCase(),
    foreign.watchToken('k1', id).reveal(),
  ]) {
    const { done, value } = search(watchToken)
    assert.ok(done && !value.ok)
    assert.equal(value.rejection.reason, 'session_not_found')
  }
  assert.throws(() => search(session.watch_token), /the session was read/)
})
