import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import type { Cases, Run } from '../cases.ts'
import { hashOf, idOf, type Members } from '../encoding.ts'
import { newKey } from '../software-key.ts'
import { create, Probe, send, type Target } from './probe.ts'
import { claimed, CONTEXT, rejected, UNKNOWN_NONCE } from './steps.ts'

/** The case of a body that has not the form of one. An honest one is accepted. */
const refusedBody =
  (raw: (honest: string) => string, status = 400, type = 'application/json'): Run<Target> =>
  async (target) => {
    const phone = await Probe.register(target)
    const { session_id, nonce } = await create(target)
    const honest = JSON.stringify({ nonce, device_id: phone.device['device_id'] })
    const post = (text: string, media: string) => {
      const headers = { 'content-type': media }
      return phone.call('POST', `/sessions/${session_id}/claim`, {}, { raw: text, headers })
    }
    const { status: rejection, body } = await post(raw(honest), type)
    assert.deepEqual([rejection, body['error']?.code], [status, 'invalid_request'])
    assert.equal((await post(honest, 'application/json; charset=utf-8')).status, 200)
  }

/** The case of a decline. */
const declined =
  (reason: string): Run<Target> =>
  async (target) => {
    const { phone, session } = await claimed(target)
    const { status, body } = await phone.decline(session, reason)
    assert.deepEqual([status, body['state'], body['ended_reason']], [200, 'killed', reason])
    rejected(await phone.claim(session), 'session_not_live')
  }

/** Registrations, and the keys of a subject. */
export const DEVICES: Cases<Target> = {
  async '6: a registration returns the ids, the key id of the format software, and a token'(
    target,
  ) {
    const { device, key } = await Probe.register(target)
    assert.match(device['device_id'], /^dev_[0-9A-Za-z]{22}$/)
    assert.match(device['subject_id'], /^sub_[0-9A-Za-z]{22}$/)
    assert.match(device['device_token'], /^dt_[0-9A-Za-z]{10}_[0-9A-Za-z_-]{43}$/)
    assert.equal(device['key_id'], key.key_id)
    for (const name of ['device_token_renew_at', 'device_token_expires_at'])
      assert.match(device[name], /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  },
  async '6: a challenge is valid for one registration'(target) {
    const { challenge } = (await send(target, ['POST', '/devices/challenges'])).body
    const body = () => ({ format: 'software', challenge, public_key: newKey().public_key })
    assert.equal((await send(target, ['POST', '/devices'], body())).status, 201)
    rejected(await send(target, ['POST', '/devices'], body()), 'challenge_not_usable')
  },
  async '6: a public key is a P-256 key'(target) {
    const { challenge } = (await send(target, ['POST', '/devices/challenges'])).body
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-384' })
    const public_key = publicKey.export({ format: 'der', type: 'spki' }).toString('base64url')
    const body = { format: 'software', challenge, public_key }
    rejected(await send(target, ['POST', '/devices'], body), 'public_key_invalid')
  },
  async '6: a new token is for an assertion of the key, which is accepted once'(target) {
    const { phone, session } = await claimed(target)
    const path = `/devices/${phone.device['device_id']}/token`
    const typ = 'bonded-device-token/v1'
    rejected(await phone.call('POST', path, phone.about('bonded-inbox/v1')), 'assertion_invalid')
    const other = { payload: { origin: 'https://other.example' } }
    rejected(await phone.call('POST', path, phone.about(typ, {}, other)), 'assertion_invalid')
    const request = phone.about(typ)
    const { status, body } = await phone.call('POST', path, request)
    assert.equal(status, 201, JSON.stringify(body))
    rejected(await phone.call('POST', path, request), 'assertion_invalid')
    phone.token = body['device_token']
    assert.equal((await phone.claim(session)).status, 200, 'the new token is rejected')
  },
  async '6: a phone adds another one by an assertion over its registration, and removes it'(
    target,
  ) {
    const { phone } = await claimed(target)
    const { challenge } = (await send(target, ['POST', '/devices/challenges'])).body
    const registration = { format: 'software', challenge, public_key: newKey().public_key }
    const add = (hash: string | null) => {
      const members = { challenge, format: 'software', registration: hash }
      return phone.about('bonded-device-add/v1', members)
    }
    const wrong = { ...registration, approval: add(hashOf({ ...registration, format: 'x' })) }
    rejected(await phone.call('POST', '/devices', wrong), 'assertion_invalid')
    rejected(await phone.call('POST', '/devices', registration), 'key_approval_required')
    const right = { ...registration, approval: add(hashOf(registration)) }
    const added = await phone.call('POST', '/devices', right)
    assert.equal(added.status, 201, JSON.stringify(added.body))
    assert.equal(added.body['subject_id'], phone.device['subject_id'])
    const removed_device_id = added.body['device_id']
    const path = `/devices/${removed_device_id}/removal`
    const remove = (id: string) => phone.about('bonded-device-remove/v1', { removed_device_id: id })
    rejected(await phone.call('POST', path, remove(phone.device['device_id'])), 'assertion_invalid')
    assert.equal((await phone.call('POST', path, remove(removed_device_id))).status, 204)
    const { keys } = (await phone.call('GET', '/devices')).body
    assert.deepEqual(
      keys.map(({ device_id }: Members) => device_id),
      [phone.device['device_id']],
    )
  },
}

/** Claims, reads, declines, and the form of a body. */
export const SESSIONS: Cases<Target> = {
  async '4: a claim returns the phone view, and repeating it has no effect'(target) {
    const { phone, session, view } = await claimed(target)
    const { session_id: id, nonce } = session
    const expected = { id, nonce, state: 'pending', api_base_url: target.origin, context: CONTEXT }
    for (const [name, value] of Object.entries(expected)) assert.deepEqual(view[name], value, name)
    assert.match(view['server_time'], /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    const again = await phone.claim(session)
    assert.equal(again.body['seq'], view['seq'])
    assert.equal(again.headers.get('cache-control'), 'no-store')
  },
  async '4: no other phone acts on a claimed session'(target) {
    const { session, view } = await claimed(target)
    const other = await Probe.register(target)
    rejected(await other.claim(session), 'session_claimed')
    rejected(await other.decline(session), 'session_claimed')
    rejected(await other.read(session, view['nonce']), 'session_not_found', 404)
  },
  async '5: a nonce that was never one of the session is nonce_mismatch'(target) {
    const phone = await Probe.register(target)
    const { session_id } = await create(target)
    rejected(await phone.claim({ session_id, nonce: UNKNOWN_NONCE }), 'nonce_mismatch')
  },
  async '5: an unknown session is session_not_live'(target) {
    const phone = await Probe.register(target)
    const session_id = idOf('sess', 'unknown')
    rejected(await phone.claim({ session_id, nonce: UNKNOWN_NONCE }), 'session_not_live')
  },
  async '3: a session is not found without its nonce'(target) {
    const { phone, session } = await claimed(target)
    rejected(await phone.read(session, UNKNOWN_NONCE), 'session_not_found', 404)
  },
  async '3: an invitation has the tenant and no context, for the nonce alone'(target) {
    const { session_id, nonce } = await create(target, CONTEXT)
    const path = `/sessions/${session_id}/invitation`
    const read = (text: string) =>
      send(target, ['GET', path], undefined, { headers: { 'x-bond-nonce': text } })
    const { status, body } = await read(nonce)
    assert.equal(status, 200, JSON.stringify(body))
    assert.equal(typeof body['tenant_name'], 'string')
    assert.equal(JSON.stringify(body).includes('12,500'), false, 'it has the context')
    rejected(await read(UNKNOWN_NONCE), 'session_not_found', 404)
  },
  async '3: a phone needs its own token'(target) {
    const { phone, session } = await claimed(target)
    const missing = await phone.claim(session, { bearer: undefined })
    rejected(missing, 'credential_missing', 401)
    assert.match(missing.headers.get('www-authenticate') ?? '', /^Bearer/)
    const bearer = `dt_0123456789_${UNKNOWN_NONCE}`
    rejected(await phone.claim(session, { bearer }), 'credential_invalid', 401)
    const other = await Probe.register(target)
    rejected(await phone.claim(session, { bearer: other.token }), 'device_not_usable')
  },
  async '3: a phone at another origin is rejected'(target) {
    const { phone, session } = await claimed(target)
    const headers = { origin: 'https://other.example' }
    rejected(await phone.claim(session, { headers }), 'origin_not_allowed', 403)
  },
  '4: a decline ends the session': declined('user_declined'),
  '4: a decline of a request that the user did not start says so': declined('user_unexpected'),
  '1: a duplicate member is rejected': refusedBody((text) => `{"nonce":"",${text.slice(1)}`),
  '1: an unknown member is rejected': refusedBody((text) => `{"a":1,${text.slice(1)}`),
  '1: an unpaired surrogate is rejected': refusedBody((text) =>
    text.replace(/}$/, ',"shows":["\\ud83d"]}'),
  ),
  '1: a nonce in another form is rejected': refusedBody((text) => text.replace('",', '=",')),
  '1: another media type is rejected': refusedBody((text) => text, 415, 'text/plain'),
  '1: a claim of more than 1,024 bytes is rejected': refusedBody(
    (text) => text + ' '.repeat(1_024),
    413,
  ),
}
