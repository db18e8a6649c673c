import assert from 'node:assert/strict'
import { test } from 'node:test'
import { proofTiles } from '../../../core/src/domain/merkle.ts'
import { appendReceipts } from '../../../core/src/operations/receipt/receipt-log.ts'
import { USUAL_LIMITS } from '../../../core/src/domain/limits.ts'
import { parseTrustedProxies } from '../../src/http/connection/client-address.ts'
import { type Harness, harness } from '../../../../tests/harness/harness.ts'
import { assertLimited } from './counted-calls.ts'

const [FLOODING, OTHER] = ['192.0.2.1', '198.51.100.1']
const BURST = 5
const LOG = '/receipts/log'

/** A service with a receipt in its log, and a low limit, which a flood exceeds at once. */
const scene = async () => {
  const h = await harness({
    trustedProxies: parseTrustedProxies('1') ?? 0,
    limits: { ...USUAL_LIMITS, public: { ...USUAL_LIMITS.public, burst: BURST } },
  })
  const { session } = await h.reach('completed')
  await h.api('GET', `/sessions/${session.id}/receipt`, { token: h.shop.server })
  await appendReceipts(h.service)
  return h
}
const get = (h: Harness, path: string, address = FLOODING) =>
  h.call('GET', path, { headers: { 'x-forwarded-for': address } })

for (const [page, paths] of [
  [
    'log',
    [
      `${LOG}/checkpoint`,
      `${LOG}/consistency/1/1`,
      `${LOG}/consistency/x/${'9'.repeat(30)}`,
      `${LOG}/tile/0/000.p/1`,
      `${LOG}/tile/entries/000.p/1`,
      `${LOG}/tile/${'x'.repeat(30)}`,
      `${LOG}/tile/63/${'x999/'.repeat(4)}999`,
    ],
  ],
  ['portal', ['/webhooks/ten_x', '/webhooks/{tenant}', '/webhooks/script/x']],
] as const)
  test(`a flood of the ${page} costs no read beyond its quota, and leaves other networks theirs`, async (t) => {
    await using h = await scene()
    const tenant = h.shop.tenant.id
    const read = t.mock.method(h.service.store, 'read')
    for (let count = 0; count < BURST; count++)
      assert.notEqual(
        (await get(h, (paths[count % paths.length] ?? '').replace('{tenant}', tenant))).status,
        429,
      )
    const before = read.mock.callCount()
    for (const path of paths) {
      const reply = await get(h, path.replace('{tenant}', tenant))
      assertLimited(reply, 'public', 1)
    }
    assert.equal(read.mock.callCount(), before)
    // The keys and app links of the service have a quota of their own.
    assert.equal((await get(h, '/.well-known/jwks.json')).status, 200)
    assert.equal((await get(h, `${LOG}/checkpoint`, OTHER)).status, 200)
  })

test('a flood of proofs of consistency leaves the checkpoint and the tiles', async () => {
  await using h = await harness({
    trustedProxies: parseTrustedProxies('1') ?? 0,
    limits: { ...USUAL_LIMITS, consistency: { ...USUAL_LIMITS.consistency, burst: BURST } },
  })
  for (let count = 0; count < BURST; count++)
    assert.equal((await get(h, `${LOG}/consistency/${count}/9`)).status, 404)
  assertLimited(await get(h, `${LOG}/consistency/1/9`), 'consistency', 1)
  assert.equal((await get(h, `${LOG}/checkpoint`)).status, 404)
  assert.equal((await get(h, `${LOG}/consistency/1/9`, OTHER)).status, 404)
})

test('a request for the log reads a bounded number of tiles, whatever its numbers are', async () => {
  await using h = await scene()
  const { store } = h.service
  const size = 2 ** 40
  await store.write(function* ({ receiptLog }) {
    const { size: before } = yield* receiptLog.head()
    yield* receiptLog.append({ before, size, auditSize: 0, tiles: [], now: h.clock.now() })
    yield* receiptLog.storeCheckpoint('large', { epoch: '', size })
  })
  for (const entry of [0, 1, size / 2, size / 2 + 1, size - 1])
    assert.ok(proofTiles(entry, size).length <= 12, String(entry))
  // The log has no tiles of this size, as after the retention: the proof is not available.
  for (const path of [
    'consistency/1/1099511627776',
    'tile/5/x999/999',
    'tile/0/x999/x999/x999/999',
  ])
    assert.equal((await get(h, `${LOG}/${path}`)).status, 404, path)
})
