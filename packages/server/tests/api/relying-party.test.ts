import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { DeviceId, SubjectId } from '@bonded/contract'
import pino from 'pino'
import { createAuthenticator } from '../../../simulator/src/index.ts'
import { openService } from '../../../cli/src/program/open.ts'
import { serve } from '../../../cli/src/node/serve.ts'
import { closeService } from '../../src/compose.ts'
import { readConfig } from '../../src/settings/config.ts'
import type { Device } from '../../../core/src/domain/session.ts'
import { checkRpIds } from '../../../core/src/operations/admin/relying-parties.ts'
import { OperatorError } from '../../../core/src/operations/admin/operator-error.ts'
import { harness, PUBLIC_ORIGIN, type HarnessOptions } from '../../../../tests/harness/harness.ts'
import { NO_SCRIPT } from '../../../../tests/harness/no-script.ts'
import type { AttestedKey } from '../../../../tests/harness/phone.ts'

const HOST = new URL(PUBLIC_ORIGIN).hostname

/** A browser key. `client` is what its browser states about each assertion. */
function browserKey(rpId: string, client: object = {}): AttestedKey {
  const authenticator = createAuthenticator({ origin: PUBLIC_ORIGIN, rpId })
  return {
    format: 'webauthn',
    register: (challenge) => ({ registration: authenticator.register(challenge) }),
    assert: (payload) => authenticator.assert(payload, { clientData: client }),
  }
}

test('registers browser keys for the configured relying party id, and names it in the invitation', async () => {
  await using h = await harness({ rpId: 'example' })
  const phone = await h.register(undefined, browserKey('example'))
  assert.equal((await h.attest(phone, await h.view(phone, await h.create()))).body.state, 'bonded')
  const session = await h.create()
  const { body } = await h.api('GET', `/sessions/${session.id}/invitation`, {
    headers: { 'x-bond-nonce': session.nonce },
  })
  assert.equal(body.registration.rp_id, 'example')
  const { body: registration } = await h.registration(browserKey(HOST))
  const rejected = await h.api('POST', '/devices', { body: registration })
  assert.deepEqual([rejected.status, rejected.body.error.reason], [400, 'attestation_invalid'])
})

test('verifies a key with its own relying party id after the service has another one', async () => {
  const options: { -readonly [Name in keyof HarnessOptions]: HarnessOptions[Name] } = {}
  await using h = await harness(options)
  const phone = await h.register(undefined, browserKey(HOST))
  options.rpId = 'example'
  await h.restart()
  assert.equal((await h.attest(phone, await h.view(phone, await h.create()))).body.state, 'bonded')
})

test('rejects an assertion under another relying party id, or from a sibling of the host', async () => {
  await using h = await harness({ rpId: 'example' })
  const moved = await h.register(undefined, browserKey('example'))
  const sibling = await h.register(
    undefined,
    browserKey('example', { origin: 'https://shop.example' }),
  )
  const foreign = { ...moved, attested: browserKey(HOST) }
  for (const phone of [sibling, foreign]) {
    const session = await h.create()
    const { status, body } = await h.attest(phone, await h.view(phone, session))
    assert.deepEqual([status, body.error.reason], [400, 'assertion_invalid'])
    assert.equal((await h.get(session)).body.state, 'pending')
  }
})

test('finds every relying party id of the keys that are not removed', async () => {
  const options: { -readonly [Name in keyof HarnessOptions]: HarnessOptions[Name] } = {}
  await using h = await harness(options)
  const check = (rpId: string, ...formerRpIds: string[]) =>
    checkRpIds(h.service, { rpId, formerRpIds })
  assert.deepEqual(await check('new.example'), [])
  // Keys of apps have no relying party id.
  await h.register()
  assert.deepEqual(await check('new.example'), [])
  const phone = await h.register(undefined, browserKey(HOST))
  await h.register(undefined, browserKey(HOST))
  options.rpId = 'example'
  await h.restart()
  const last = await h.register(undefined, browserKey('example'))
  assert.deepEqual(await check(HOST, 'example'), [HOST, 'example'])
  assert.deepEqual(await checkRpIds(h.service, { rpId: 'x', formerRpIds: undefined }), [
    HOST,
    'example',
  ])
  await assert.rejects(check('new.example', 'example'), (failure) => {
    assert.ok(failure instanceof OperatorError)
    assert.match(failure.message, new RegExp(`RP ID ${HOST}, but new passkeys .* new\\.example`))
    assert.match(failure.message, new RegExp(`BONDED_RP_ID_FORMER=example,${HOST}`))
    return true
  })
  assert.equal((await h.removeKey(last)).status, 204)
  assert.deepEqual(await check(HOST), [HOST])
  assert.equal((await h.removeKey(phone)).status, 204)
  assert.deepEqual(await check(HOST), [HOST], 'another phone has a key')
})

test('a service does not start while the settings lack the relying party id of a key', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'bonded-rp-id-'))
  const start = (settings: Readonly<Record<string, string>>) => {
    const config = readConfig({ BONDED_DATA_DIR: folder, BONDED_PORT: '0', ...settings })
    return serve(config, pino({ enabled: false }), { script: NO_SCRIPT })
  }
  const origin = { BONDED_PUBLIC_ORIGIN: 'https://bond.bank.example' }
  const service = await openService(readConfig({ BONDED_DATA_DIR: folder, ...origin }))
  await service.store.write((tables) =>
    tables.devices.register(KEY, { id: 'token', hash: Buffer.alloc(32), issuedAt: 0 }),
  )
  await closeService(service)
  await assert.rejects(start({ ...origin, BONDED_RP_ID: 'bank.example' }), OperatorError)
  // The failed start has released the file.
  for (const settings of [
    origin,
    { ...origin, BONDED_RP_ID: 'bank.example', BONDED_RP_ID_FORMER: 'bond.bank.example' },
  ])
    await (await start(settings))[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true })
})

const KEY: Device = {
  id: 'dev_1' as DeviceId,
  subjectId: 'sub_1' as SubjectId,
  format: 'webauthn',
  keyId: 'key',
  publicKey: Buffer.alloc(1),
  environment: 'production',
  appId: 'bond.bank.example',
  status: 'active',
  counter: 0,
  lastIssuedAt: null,
  createdAt: 0,
}
