import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { purgeSessions } from '../../../../core/src/operations/maintenance/purge-sessions.ts'
import { harness, type Reply, SHOP_ORIGIN } from '../../../../../tests/harness/harness.ts'

const h = await harness()
after(() => h[Symbol.asyncDispose]())

const UNKNOWN = `sess_${'0'.repeat(22)}`
const TOKEN = `bwt_${'A'.repeat(43)}`
const SECRET = { 'x-bond-completion-secret': `bcs_${'A'.repeat(43)}` }

/** Creates a session of every kind that must be indistinguishable from an unknown one. */
async function hidden() {
  const purged = await h.create()
  await h.kill(purged)
  h.clock.advance(25 * 3_600_000)
  while ((await purgeSessions(h.service)).more);
  const ended = await h.create()
  await h.kill(ended)
  h.clock.advance(61 * 60_000)
  const other = await h.addTenant({ name: 'Other' })
  return {
    unknown: UNKNOWN,
    malformed: 'sess_1',
    foreign: (await h.create(undefined, other)).id,
    ended: ended.id,
    purged: purged.id,
  }
}

/** Removes the request id and the date from a response. */
function comparable({ status, headers, text, body }: Reply): object {
  const { date: _, 'x-request-id': id, ...others } = headers
  return {
    status,
    headers: others,
    text: text.replaceAll(String(id), '<id>'),
    reason: body.error.reason,
  }
}

test('responds to unknown, foreign, long-ended and purged sessions and wrong tokens identically except for the request id', async () => {
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
    // The timeline stays readable for longer than the session.
    ...each
      .filter((id) => id !== ids.ended)
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
