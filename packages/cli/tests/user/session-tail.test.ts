import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { parseId, type SessionId } from '@bonded/contract'
import { findReceipt } from '@bonded/core/operations/admin/find-receipt'
import { harness } from '../../../../tests/harness/harness.ts'
import { followSession } from '../../src/user/session-tail.ts'

const h = await harness()
after(() => h[Symbol.asyncDispose]())
const idOf = ({ id }: { readonly id: string }) => parseId('sess', id) as SessionId

test('follows a session: each event once, as it happens, and at last what it has become', async () => {
  const session = await h.create()
  const phone = await h.register()
  const steps = [
    async () => void (await h.attest(phone, await h.view(phone, session))),
    async () => {},
    () => h.kill(session),
  ]
  const lines: string[] = []
  const pause = async () => {
    lines.push('pause')
    await steps.shift()?.()
  }
  for await (const line of followSession(h.service, idOf(session), pause))
    lines.push('kind' in line ? line.kind : `${line.state} ${line.ended_reason}`)
  assert.deepEqual(lines, [
    'created',
    'pause',
    'evaluating',
    'bonded',
    'pause',
    'pause',
    'killed',
    'killed killed_by_tenant',
  ])
})

test('ends with the expiry that no service has stored, and rejects an unknown session', async () => {
  const session = await h.create()
  const last: unknown[] = []
  const pause = async () => h.clock.advance(300_000)
  for await (const line of followSession(h.service, idOf(session), pause)) last.push(line)
  assert.deepEqual(last.at(-1), { session_id: session.id, state: 'expired', ended_reason: null })
  const unknown = followSession(h.service, `sess_${'0'.repeat(22)}` as SessionId)
  await assert.rejects(unknown.next(), { code: 'not_found' })
})

test('prints the receipt that the backend fetches, and none of a session without a bond', async () => {
  const { session } = await h.reach('bonded')
  const { body } = await h.api('GET', `/sessions/${session.id}/receipt`, { token: h.shop.server })
  assert.deepEqual(await findReceipt(h.service, idOf(session)), {
    jws: body.receipt,
    proof: body.proof,
  })
  await assert.rejects(findReceipt(h.service, idOf(await h.create())), { code: 'not_found' })
})
