import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { purgeSessions } from '../../src/operations/purge-sessions.ts'
import { harness, type Reply, SHOP_ORIGIN } from '../harness/harness.ts'

const h = await harness()
after(() => h[Symbol.asyncDispose]())

const UNKNOWN = `sess_${'0'.repeat(22)}`
const TOKEN = `bwt_${'A'.repeat(43)}`
const SECRET = { 'x-bond-completion-secret': `bcs_${'A'.repeat(43)}` }

/** A session of every kind that must not be told from one that never was. */
async function hidden() {
  const deleted = await h.create()
  await h.kill(deleted)
  h.clock.advance(25 * 3_600_000)
  while ((await purgeSessions(h.service)).more);
  const forgotten = await h.create()
  await h.kill(forgotten)
  h.clock.advance(61 * 60_000)
  const other = await h.addTenant({ name: 'Other' })
  return {
    unknown: UNKNOWN,
    malformed: 'sess_1',
    foreign: (await h.create(undefined, other)).id,
    forgotten: forgotten.id,
    deleted: deleted.id,
  }
}

/** Everything of an answer but the request's id and the hour. */
function comparable({ status, headers, text, body }: Reply): object {
  const { date: _, 'x-request-id': id, ...rest } = headers
  return {
    status,
    headers: rest,
    text: text.replaceAll(String(id), '<id>'),
    reason: body.error.reason,
  }
}

test('unknown, foreign, forgotten and deleted sessions, and wrong tokens, read the same but for the request’s id', async () => {
  const ids = await hidden()
  const phone = await h.register()
  const live = await h.create()
  const claimed = await h.create()
  await h.claim(await h.register(), claimed)
  const asBackend = (method: string, path: string, headers = {}) =>
    h.api(method, path, { token: h.shop.server, headers })
  const asBrowser = (id: string, token: Record<string, string> = { 'x-bond-watch': TOKEN }) =>
    h.api('GET', `/sessions/${id}`, {
      token: h.shop.publishable,
      headers: { origin: SHOP_ORIGIN, ...token },
    })
  const asPhone = (id: string, nonce = 'A'.repeat(43)) =>
    h.api('GET', `/sessions/${id}?nonce=${nonce}`, { token: phone.device_token })

  const each = Object.values(ids)
  const reads = await Promise.all([
    ...each.map((id) => asBackend('GET', `/sessions/${id}`)),
    ...each.map((id) => asBackend('DELETE', `/sessions/${id}`)),
    ...each.map((id) => asBackend('POST', `/sessions/${id}/form-completed`, SECRET)),
    // The timeline is kept for longer than the session can be read.
    ...each
      .filter((id) => id !== ids.forgotten)
      .map((id) => asBackend('GET', `/sessions/${id}/timeline`)),
  ])
  const browsers = await Promise.all([
    ...each.map((id) => asBrowser(id)),
    asBrowser(live.id),
    asBrowser(live.id, {}),
  ])
  const phones = await Promise.all([
    ...each.map((id) => asPhone(id)),
    asPhone(live.id),
    asPhone(claimed.id, claimed.nonce),
  ])
  for (const group of [reads, browsers, phones]) {
    const [first, ...others] = group.map(comparable)
    assert.equal((first as { reason: string }).reason, 'session_not_found')
    for (const other of others) assert.deepEqual(other, first)
  }
})
