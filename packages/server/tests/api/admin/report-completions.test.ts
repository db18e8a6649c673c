import assert from 'node:assert/strict'
import { test } from 'node:test'
import { reportCompletions } from '@bonded/core/operations/admin/report-completions'
import { harness } from '../../../../../tests/harness/harness.ts'

test('names each tenant whose backend completes sessions without an outcome', async () => {
  await using h = await harness()
  const careful = await h.addTenant({ name: 'Careful', origins: ['https://careful.example'] })
  assert.deepEqual(await reportCompletions(h.service), { completed: 0, warnings: [] })
  const phone = await h.register()
  const bonded = async (keys = h.shop) => {
    const session = await h.create(undefined, keys)
    await h.attest(phone, (await h.claim(phone, session)).body)
    return session
  }
  await h.complete(await bonded(careful), { 'x-bond-outcome': 'accepted' }, careful)
  await h.complete(await bonded(), { 'x-bond-outcome': 'in_review' })
  assert.deepEqual(await reportCompletions(h.service), { completed: 2, warnings: [] })
  await h.complete(await bonded())
  const { completed, warnings } = await reportCompletions(h.service)
  assert.equal(completed, 3)
  assert.equal(warnings.length, 1)
  assert.match(
    warnings[0] ?? '',
    new RegExp(`${h.shop.tenant.id} completed 1 recent sessions without X-Bond-Outcome`),
  )
})
