import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { SessionId } from '@bonded/contract'
import { keyringOf } from '../../../src/adapters/keys/keyring.ts'
import {
  createSession,
  type SessionRequest,
} from '../../../../core/src/operations/session/create-session.ts'
import { killSession } from '../../../../core/src/operations/session/kill-session.ts'
import { readAsBackend } from '../../../../core/src/operations/session/read-session.ts'
import type { BackendCaller, Service } from '../../../../core/src/operations/service.ts'
import { harness, ROOT_KEY } from '../../../../../tests/harness/harness.ts'

const NEW_KEY = { id: 'k2', bytes: ROOT_KEY.bytes.toReversed() }
const h = await harness()
after(() => h[Symbol.asyncDispose]())
/** The service after a restart with rotated root keys. */
const rotated: Service = { ...h.service, keys: keyringOf([NEW_KEY, ROOT_KEY]) }
const withoutOld: Service = { ...h.service, keys: keyringOf([NEW_KEY]) }

async function backend(): Promise<BackendCaller> {
  const credential = await h.service.store.read((tables) =>
    tables.tenants.findServerCredential(h.shop.server.slice(8, 18)),
  )
  assert.ok(credential)
  return { kind: 'backend', credential }
}

test('matches an Idempotency-Key from before a rotation to its session and body', async () => {
  const caller = await backend()
  const create = async (service: Service, request: SessionRequest) =>
    createSession(service, caller, { request, idempotencyKey: 'before' })
  const first = await create(h.service, { workflow: 'credit_application' })
  const again = await create(rotated, { workflow: 'credit_application' })
  assert.ok(first.ok && again.ok)
  assert.equal(again.value.id, first.value.id)
  const other = await create(rotated, { workflow: 'strict' })
  assert.equal(other.ok ? undefined : other.rejection.reason, 'idempotency_mismatch')
})

test('creates a session under the active root key, serves it under its own, and hides it without that key', async () => {
  const caller = await backend()
  const old = await h.create()
  const made = await createSession(rotated, caller, {
    request: { workflow: 'credit_application' },
    idempotencyKey: undefined,
  })
  assert.ok(made.ok)
  assert.equal(made.value.rootKeyId, 'k2')
  for (const id of [old.id as SessionId, made.value.id])
    assert.ok((await readAsBackend(rotated, caller, id)).ok)
  assert.ok(!(await readAsBackend(withoutOld, caller, old.id as SessionId)).ok)
  assert.ok(!(await killSession(withoutOld, caller, old.id as SessionId)).ok)
  assert.ok((await readAsBackend(withoutOld, caller, made.value.id)).ok)
})

test('keeps the subject reference of a bonded user after a rotation', async () => {
  const { session, phone } = await h.reach('bonded')
  const name = (await h.get(session)).body.subject_ref
  const device = await h.service.store.read((tables) =>
    tables.devices.find(phone.device_id as never),
  )
  const stored = await h.service.store.read((tables) =>
    tables.sessions.find(session.id as SessionId),
  )
  assert.ok(device && stored)
  assert.notEqual(rotated.keys.subjectRef(stored.tenantId, device.subjectId), name)
  assert.equal(
    (await h.service.store.read((tables) => tables.sessions.deviceStats(stored, device)))
      .subjectRef,
    name,
  )
})
