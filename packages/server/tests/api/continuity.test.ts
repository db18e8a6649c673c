import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { fourDecimals, LONG_LIVED_DECAY } from '../../../core/src/domain/scoring.ts'
import { harness, type TenantKeys } from '../../../../tests/harness/harness.ts'
import { carriedSignals, type TestPhone } from '../../../../tests/harness/phone.ts'

const h = await harness()
after(() => h[Symbol.asyncDispose]())

/** Bonds with so many seconds of carrying. */
async function bond(phone: TestPhone, seconds: number, keys: TenantKeys = h.shop) {
  const session = await h.create({ workflow: 'credit_application' }, keys)
  await h.claim(phone, session)
  await h.attest(phone, await h.view(phone, session), {
    signals: carriedSignals(h.clock.now(), seconds),
  })
  const { verification } = (await h.get(session, keys)).body
  return {
    subjectRef: (await h.get(session, keys)).body.subject_ref as string,
    latest: verification.sensor_continuity.continuity_score as number,
    longLived: verification.continuity_score_long_lived as number,
  }
}

test('the long-lived score is the decayed mean over all bonds of a phone with a tenant', async () => {
  const phone = await h.register()
  const first = await bond(phone, 120)
  assert.equal(first.longLived, first.latest)
  const second = await bond(phone, 6)
  assert.ok(second.latest < first.latest)
  const afterTwo = fourDecimals(first.latest + LONG_LIVED_DECAY * (second.latest - first.latest))
  assert.equal(second.longLived, afterTwo)
  const third = await bond(phone, 6)
  assert.equal(
    third.longLived,
    fourDecimals(afterTwo + LONG_LIVED_DECAY * (third.latest - afterTwo)),
  )
})

test('does not share continuity or pseudonyms between tenants', async () => {
  const other = await h.addTenant({ name: 'Other', origins: ['https://other.example'] })
  const phone = await h.register()
  await bond(phone, 120)
  const known = await bond(phone, 120)
  const there = await bond(phone, 6, other)
  assert.equal(there.longLived, there.latest)
  assert.notEqual(there.subjectRef, known.subjectRef)
  const here = await bond(phone, 6)
  assert.ok(here.longLived > here.latest)
  assert.equal(here.subjectRef, known.subjectRef)
  assert.equal((await bond(phone, 6, other)).subjectRef, there.subjectRef)
})
