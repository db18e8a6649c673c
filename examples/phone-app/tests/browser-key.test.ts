import assert from 'node:assert/strict'
import { test } from 'node:test'
import { awaitsBrowser, isRejection } from '@bonded/phone'
import { createAuthenticator } from '@bonded/simulator'
import { browserProof, newBrowserSecret } from '../../../tests/harness/browser-proof.ts'
import { PUBLIC_ORIGIN, SHOP_ORIGIN } from '../../../tests/harness/harness.ts'
import { createBrowserKeys, type Passkeys } from '../src/device/browser-key.ts'
import { connect, PLATFORMS, serviceForApps } from './doubles/phone.ts'

const RP_ID = new URL(PUBLIC_ORIGIN).hostname
const LOCAL_AUTH = { result: 'verified', method: 'biometric', at_ms: performance.now() } as const
const gather = async () => ({ local_auth: LOCAL_AUTH })

/** The passkey library of a phone, with the options that it received. */
function passkeysDouble() {
  const authenticator = createAuthenticator({ origin: `https://${RP_ID}`, rpId: RP_ID })
  const asked: Parameters<Passkeys['create']>[0][] = []
  const passkeys: Passkeys = {
    create: async (options) => {
      asked.push(options)
      return authenticator.register(options.challenge)
    },
  }
  return { authenticator, asked, passkeys }
}

for (const [os, makePhone] of Object.entries(PLATFORMS))
  test(`${os}: the app registers a browser key with its first approval, lists it, and removes it`, async () => {
    await using h = await serviceForApps()
    const shop = await h.addTenant({
      workflows: [{ name: 'bound', actions: ['act'], require: ['browser'] }],
    })
    const { authenticator, asked, passkeys } = passkeysDouble()
    const prompts: string[] = []
    let handles = 0
    const device = makePhone()
    const createBrowserKey = createBrowserKeys(passkeys, {
      rpName: 'Bank',
      keyName: 'Approvals',
      random: (length) => new Uint8Array(length).fill((handles += 1)),
    })
    const { phone } = connect(h, device, undefined, createBrowserKey)
    const approveOne = async () => {
      const session = await h.create({ workflow: 'bound', action: 'act' }, shop)
      const claimed = await phone.claim(session.universal_link)
      const onPrompt = (prompt: string) => void prompts.push(prompt)
      const approved = await phone.approve(claimed, { gather, onPrompt })
      assert.ok(awaitsBrowser(approved.session))
      const body = browserProof(authenticator, {
        sessionId: session.id,
        tenantId: shop.tenant.id,
        workflow: 'bound',
        action: 'act',
        origin: SHOP_ORIGIN,
        secret: newBrowserSecret(),
      })
      const proved = await h.api('POST', `/sessions/${session.id}/browser`, {
        token: shop.publishable,
        headers: { origin: SHOP_ORIGIN, 'x-bond-watch': session.watch_token },
        body,
      })
      assert.equal(proved.body.state, 'bonded', proved.text)
    }
    await approveOne()
    await approveOne()
    assert.equal(asked.length, 1, 'one prompt, at the first approval')
    assert.deepEqual(prompts, ['browser_key', 'approval', 'approval'])
    assert.deepEqual(asked[0]?.rp, { id: RP_ID, name: 'Bank' })
    assert.equal(asked[0].authenticatorSelection.residentKey, 'required')

    const [own] = await phone.listKeys()
    assert.equal(own?.browser_key?.rp_id, RP_ID)
    await phone.removeBrowserKey(own.device_id)
    assert.equal((await phone.listKeys())[0]?.browser_key, null)
    await approveOne()
    assert.equal(asked.length, 2)
    assert.notEqual(asked[0].user.id, asked[1]?.user.id, 'no key replaces another')
  })

test('an app without passkeys stops before the user approves', async () => {
  await using h = await serviceForApps()
  const shop = await h.addTenant({
    workflows: [{ name: 'bound', actions: ['act'], require: ['browser'] }],
  })
  const { phone } = connect(h, PLATFORMS.ios())
  const session = await h.create({ workflow: 'bound', action: 'act' }, shop)
  await assert.rejects(phone.claim(session.universal_link), (error) =>
    isRejection(error, 'browser_key_required'),
  )
  assert.equal((await h.get(session, shop)).body.state, 'pending')
})

test('a canceled passkey prompt approves nothing, and can be repeated', async () => {
  await using h = await serviceForApps()
  const shop = await h.addTenant({
    workflows: [{ name: 'bound', actions: ['act'], require: ['browser'] }],
  })
  const { passkeys } = passkeysDouble()
  let prompts = 0
  const createBrowserKey = createBrowserKeys(
    {
      create: (options) =>
        (prompts += 1) === 1 ? Promise.reject(new Error('canceled')) : passkeys.create(options),
    },
    { rpName: 'Bank', keyName: 'Approvals', random: (length) => new Uint8Array(length) },
  )
  const { phone } = connect(h, PLATFORMS.ios(), undefined, createBrowserKey)
  const session = await h.create({ workflow: 'bound', action: 'act' }, shop)
  const claimed = await phone.claim(session.universal_link)
  await assert.rejects(phone.approve(claimed, { gather }), { code: 'user_verification_failed' })
  assert.equal((await h.get(session, shop)).body.state, 'pending')
  assert.ok(awaitsBrowser((await phone.approve(claimed, { gather })).session))
})
