import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Harness, harness } from '../../../../tests/harness/harness.ts'

const W = { workflow: 'credit_application' }

/** The harness's phone, calling through a trusted proxy from this address. */
async function bondFrom(
  h: Harness,
  { address, end_user_address, claims }: Setup,
): Promise<readonly string[]> {
  const session = await h.create(end_user_address === undefined ? W : { ...W, end_user_address })
  const phone = await h.register()
  const headers = { 'x-forwarded-for': address }
  const token = phone.device_token
  const { id, nonce } = session
  const body = { nonce, device_id: phone.device_id }
  if (claims) await h.api('POST', `/sessions/${id}/claim`, { token, headers, body })
  const attested = await h.attest(phone, await h.view(phone, session), { headers })
  assert.equal(attested.body.state, 'bonded')
  const timeline = await h.api('GET', `/sessions/${id}/timeline`, { token: h.shop.server })
  assert.equal(timeline.text.includes(address), false, 'the timeline names no address')
  return timeline.body.entries
    .filter(({ kind }: { kind: string }) => kind === 'note')
    .map(({ reason }: { reason: string }) => reason)
}

interface Setup {
  readonly address: string
  readonly end_user_address?: string
  readonly claims: boolean
}

const NOTED = ['network_differs']
const cases: readonly (readonly [
  what: string,
  end_user_address: string | undefined,
  address: string,
  notes: readonly string[],
])[] = [
  ['the same IPv4 address', '192.0.2.7', '192.0.2.7', []],
  ['another address of the same /24', '192.0.2.7', '192.0.2.250', []],
  ['another /24', '192.0.2.7', '192.0.3.7', NOTED],
  ['an IPv4 address in IPv6 form, of the same /24', '::ffff:c000:207', '192.0.2.9', []],
  ['another subnet of the same /48', '2001:db8:1:2::1', '2001:DB8:1:ffff::9', []],
  ['another /48', '2001:db8:1:2::1', '2001:db8:2:2::1', NOTED],
  ['another family, which cannot be compared', '192.0.2.7', '2001:db8:1:2::1', []],
  ['a session without an end_user_address', undefined, '192.0.2.7', []],
]

for (const [what, end_user_address, address, notes] of cases) {
  for (const claims of [true, false]) {
    test(`${what}, ${claims ? 'with' : 'without'} a claim: ${notes[0] ?? 'no note'}`, async () => {
      await using h = await harness({ trustedProxies: 1 })
      const setup = { address, claims, ...(end_user_address && { end_user_address }) }
      assert.deepEqual(await bondFrom(h, setup), notes)
    })
  }
}

test('stores the network of an end_user_address and not the address', async () => {
  await using h = await harness()
  const { id } = await h.create({ ...W, end_user_address: '192.0.2.77' })
  const session = await h.service.store.read((tables) => tables.sessions.find(id as never))
  assert.equal(session?.endUserNetwork, '192.0.2.0/24')
  assert.equal(JSON.stringify(session).includes('192.0.2.77'), false)
})
