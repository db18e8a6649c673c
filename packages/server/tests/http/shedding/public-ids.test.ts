import assert from 'node:assert/strict'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { test } from 'node:test'
import type { TenantId } from '@bonded/contract'
import { REQUESTS_PER_TURN } from '../../../src/http/shedding/waiting-requests.ts'
import {
  credential,
  forged,
  phoneToken,
  publishableKey,
  queuedServer,
  type Request,
  session,
} from './admission-scene.ts'

/** Floods with a credential, beside the calls of a tenant that stays far below its share. */
async function attack(authorization: string, path: string) {
  const scene = queuedServer(['quiet', 'shop'])
  const phone = { authorization: phoneToken, sessionId: undefined }
  scene.known.learn({ ...phone, tenantId: 'ten_shop' as TenantId })
  const page = { authorization: publishableKey, sessionId: undefined }
  scene.known.learn({ ...page, tenantId: 'ten_shop' as TenantId })
  const own: Request[] = []
  for (let turn = 0; turn < 200; turn++) {
    scene.present(authorization, path, 3 * REQUESTS_PER_TURN)
    own.push(
      ...scene.create('shop', turn % 8 === 0 ? 1 : 0),
      ...(turn % 8 ? [] : [scene.complete('shop')]),
    )
    scene.create('quiet', turn % 4 === 0 ? 1 : 0)
    await nextTurn()
    scene.advance(5)
  }
  for (let turn = 0; turn < 3; turn++) await nextTurn()
  const startedSet = new Set(scene.started)
  return own.filter((request) => !startedSet.has(request)).length
}

test('lets no stranger shed the calls of a tenant with the public part of a credential', async () => {
  const completion = `/sessions/${session}/form-completed`
  assert.equal(await attack(forged('shop'), completion), 0)
  assert.equal(await attack(forged('shop'), '/sessions'), 0)
  assert.equal(await attack(publishableKey, '/sessions/x/cancel'), 0)
  assert.equal(await attack(publishableKey, `/sessions/${session}/browser`), 0)
  assert.equal(await attack(publishableKey, `/sessions/${session}/browser/frame`), 0)
  assert.equal(await attack(phoneToken.replaceAll('p', 'x'), '/attestations'), 0)
})

test('charges the calls of a phone to the phone, not to the tenant', async () => {
  assert.equal(await attack(phoneToken, '/attestations'), 0)
})

test('ranks a flood by one phone below the calls of another', async () => {
  const scene = queuedServer(['shop'])
  const tenantId = 'ten_shop' as TenantId
  const other = phoneToken.replaceAll('p', 'q')
  for (const authorization of [phoneToken, other])
    scene.known.learn({ authorization, sessionId: undefined, tenantId })
  for (let turn = 0; turn < 100; turn++) {
    scene.present(phoneToken, '/attestations', 2 * REQUESTS_PER_TURN)
    if (turn % 50 === 0) scene.present(other, '/attestations', 1)
    await nextTurn()
    scene.advance(5)
  }
  assert.ok(scene.shed.length > 0)
  assert.ok(scene.shed.every(({ request }) => request.headers.authorization === phoneToken))
})

test('ranks a credential as unknown after the service has rejected it', async () => {
  const scene = queuedServer(['shop'])
  scene.known.remove(credential('shop'))
  scene.create('shop', 2_000)
  await nextTurn()
  assert.ok(scene.shed.length > 0)
  assert.ok(scene.shed.every(({ standing }) => standing === 'unknown'))
})
