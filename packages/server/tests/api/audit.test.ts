import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import type { DeviceId, EndpointName, RequestId, SessionId, SubjectId } from '@bonded/contract'
import type { AuditedAction, AuditEntry } from '../../../core/src/domain/audit.ts'
import { moveDevice } from '../../../core/src/operations/admin/devices.ts'
import { eraseSubject } from '../../../core/src/operations/admin/erase-subject.ts'
import { changeSubject } from '../../../core/src/operations/admin/subjects.ts'
import { applyTenant } from '../../../core/src/operations/admin/apply-tenant.ts'
import { rollKey } from '../../../core/src/operations/admin/roll-key.ts'
import { issueKey } from '../../../core/src/operations/admin/keys.ts'
import {
  auditedService,
  personReference,
  readingService,
  recordAction,
} from '../../../core/src/operations/audit/audit.ts'
import { auditedValues } from '../../../core/src/operations/audit/audited-values.ts'
import { inspectSession } from '../../../core/src/operations/admin/inspect-session.ts'
import { createEndpoint } from '../../../core/src/operations/webhook/webhook-endpoints.ts'
import { AUDITED_ENDPOINTS } from '../../src/http/audited-endpoints.ts'
import { type Harness, harness } from '../../../../tests/harness/harness.ts'
import { runSql } from '../../../store/tests/servers/postgres.ts'
import { validRequests } from '../../../../tests/harness/valid-requests.ts'

const entriesOf = ({ service }: Harness) =>
  service.store.read(({ audit }) => audit.list({ limit: 1_000 }))

const operator = (action: string, target: AuditedAction['target']): AuditedAction => ({
  action,
  actor: { kind: 'operator', name: 'alice', address: '192.0.2.1' },
  requestId: 'req_0000000000000000000000' as RequestId,
  target,
  reason: 'T-1',
})

/** Lets no one add to the audit log. */
async function makeReadOnly({ databaseFile, databaseUrl }: Harness): Promise<void> {
  if (databaseUrl !== undefined)
    return void (await runSql(databaseUrl, 'revoke insert on audit_entry from bonded_runtime'))
  using database = new DatabaseSync(databaseFile)
  database.exec(
    `create trigger audit_is_read_only before insert on audit_entry
     begin select raise(abort, 'read only'); end`,
  )
}

test('records the call of each endpoint that is declared to change the configuration, and no other', async () => {
  await using h = await harness()
  const { bodies, send } = await validRequests(h)
  for (const [name, auditClass] of Object.entries(AUDITED_ENDPOINTS)) {
    if (name === 'deleteWebhookEndpoint') continue
    const before = await entriesOf(h)
    const body = bodies[name as EndpointName]
    const sent = await send(
      name as EndpointName,
      body === undefined ? {} : { raw: JSON.stringify(body) },
    )
    if (auditClass === 'changes') assert.ok(sent.status < 300, `${name} ${sent.text}`)
    const added = (await entriesOf(h)).slice(before.length)
    assert.deepEqual(
      added.map(({ action }) => action),
      auditClass === 'changes' ? [name] : [],
      name,
    )
  }
  const deleted = await send('deleteWebhookEndpoint')
  assert.equal(deleted.status, 204)
  const entries = await entriesOf(h)
  const last = entries.at(-1) as AuditEntry
  assert.equal(last.action, 'deleteWebhookEndpoint')
  assert.deepEqual(
    [last.actorKind, last.address, last.tenantId, last.valueAfter],
    ['tenant', '127.0.0.1', h.shop.tenant.id, null],
  )
  assert.match(last.actor, /^[0-9A-Za-z]{10}$/)
  assert.match(last.valueBefore ?? '', /"endpoint.origin":"https:\/\/hooks.example"/)
  assert.deepEqual(
    entries.map(({ number }) => number),
    entries.map((_, index) => index + 1),
  )
})

test('records no rejected call of a tenant', async () => {
  await using h = await harness()
  const replies = [
    await h.api('POST', `/subjects/${'A'.repeat(43)}/block`, { token: h.shop.server }),
    await h.api('DELETE', '/webhook-endpoints/we_0000000000000000000000', {
      token: h.shop.server,
    }),
  ]
  assert.deepEqual(
    replies.map(({ status }) => status),
    [404, 404],
  )
  assert.deepEqual(await entriesOf(h), [])
})

test('names a user by a keyed reference only, and by none after the key is deleted', async () => {
  await using h = await harness()
  const { session, phone } = await h.reach('bonded')
  const { subject_ref } = (await h.get(session)).body
  await h.api('POST', `/subjects/${subject_ref}/block`, { token: h.shop.server })
  const subjectId = phone.subject_id as SubjectId
  const target = { deviceId: phone.device_id as never }
  await moveDevice(
    auditedService(h.service, operator('device block', target)),
    target.deviceId,
    'block',
  )
  await recordAction(h.service, operator('session show', { sessionId: session.id as never }))
  await recordAction(h.service, operator('subject show', { subjectId }), 'not_found')

  const entries = await entriesOf(h)
  const person = await personReference(h.service, subjectId)
  assert.equal(entries.length, 4)
  assert.ok(person !== undefined && entries.every((entry) => entry.person === person))
  const [, blocked, , failed] = entries as [AuditEntry, AuditEntry, AuditEntry, AuditEntry]
  assert.deepEqual(
    [blocked.valueBefore, blocked.valueAfter, blocked.reason, blocked.result],
    ['{"device.status":"active"}', '{"device.status":"blocked"}', 'T-1', 'success'],
  )
  assert.equal(failed.result, 'not_found')
  const text = JSON.stringify(entries)
  for (const secret of [subjectId, phone.device_id, session.id, subject_ref, h.shop.server])
    assert.ok(!text.includes(secret), secret)

  await eraseSubject(h.service, subjectId)
  assert.equal(await personReference(h.service, subjectId), undefined)
  assert.deepEqual(await entriesOf(h), entries)
})

test('makes no key for a user who does not exist', async () => {
  await using h = await harness()
  const subjectId = 'sub_0000000000000000000000' as SubjectId
  await recordAction(h.service, operator('subject show', { subjectId }))
  assert.equal(await personReference(h.service, subjectId), undefined)
  assert.equal((await entriesOf(h))[0]?.person, null)
})

test('records what an action creates, without its secret', async () => {
  await using h = await harness()
  const tenantId = h.shop.tenant.id
  const given = { tenantId, kind: 'server', scope: null, name: 'new' } as const
  const service = auditedService(h.service, operator('key issue', { tenantId }))
  const { key, secret } = await issueKey(service, given)
  const [entry] = await entriesOf(h)
  assert.deepEqual(JSON.parse(entry?.target ?? ''), { key })
  assert.deepEqual(JSON.parse(entry?.valueAfter ?? ''), {
    'key.kind': 'server',
    'key.name': 'new',
    'key.scope': null,
    'key.revoked_at': null,
    'key.expires_at': null,
  })
  assert.ok(!JSON.stringify(entry).includes(secret.reveal()))
})

test('does nothing that the audit log cannot record', async () => {
  await using h = await harness()
  const { session, phone } = await h.reach('bonded')
  const { subject_ref } = (await h.get(session)).body
  await makeReadOnly(h)
  const blocked = await h.api('POST', `/subjects/${subject_ref}/block`, { token: h.shop.server })
  assert.ok(blocked.status >= 500)
  const subjectId = phone.subject_id as SubjectId
  const service = auditedService(h.service, operator('subject block', { subjectId }))
  await assert.rejects(changeSubject(service, subjectId, 'block'))
  await assert.rejects(recordAction(h.service, operator('subject show', { subjectId })))
  const reference = await h.service.store.read((tables) =>
    tables.subjects.find(h.shop.tenant.id, subject_ref),
  )
  const everywhere = await h.service.store.read((tables) => tables.subjects.blockedAt(subjectId))
  assert.deepEqual([reference?.blockedAt, everywhere], [undefined, undefined])
  assert.equal((await h.get(session)).body.state, 'bonded')
})

test('lets an action that is declared to change nothing change nothing', async () => {
  await using h = await harness()
  const service = readingService(h.service, { action: 'key list', auditClass: 'neither' })
  const given = { tenantId: h.shop.tenant.id, kind: 'publishable', scope: null } as const
  await assert.rejects(issueKey(service, given), /"key list" is not declared/)
})

test('lets only an action that is declared to read data of a user read it', async () => {
  await using h = await harness()
  const { session } = await h.reach('bonded')
  const id = session.id as SessionId
  const action = 'session show'
  const unrecorded = readingService(h.service, { action, auditClass: 'neither' })
  await assert.rejects(inspectSession(unrecorded, id), /"session show" is not declared/)
  const reading = readingService(h.service, { action, auditClass: 'reads_person' })
  assert.equal((await inspectSession(reading, id)).session.id, id)
})

test('an entry shows these members of a row, and no secret or column of a user', async () => {
  await using h = await harness()
  const { session, phone } = await h.reach('bonded')
  const { subject_ref } = (await h.get(session)).body
  const tenantId = h.shop.tenant.id
  const url = 'https://hooks.example/secret?token=1'
  const created = await createEndpoint(
    h.service,
    { tenantId, url, events: null, scheme: 'v1' },
    'operator',
  )
  assert.ok(created.ok)
  const { key } = await issueKey(h.service, { tenantId, kind: 'server', scope: null })
  const values = await h.service.store.read((tables) =>
    auditedValues(h.service, tables, {
      tenantId,
      key,
      endpointId: created.value.endpoint.id,
      sessionId: session.id as SessionId,
      deviceId: phone.device_id as DeviceId,
      subjectId: phone.subject_id as SubjectId,
      subjectRef: subject_ref,
    }),
  )
  assert.deepEqual(Object.keys(values), [
    'tenant.name',
    'tenant.environment',
    'tenant.demo',
    'tenant.origins',
    'tenant.workflows',
    'tenant.session_endpoint',
    'tenant.retention',
    'tenant.limits',
    'tenant.logo',
    'tenant.suspended_at',
    'key.kind',
    'key.name',
    'key.scope',
    'key.revoked_at',
    'key.expires_at',
    'endpoint.events',
    'endpoint.scheme',
    'endpoint.logged_characters',
    'endpoint.previous_until',
    'endpoint.disabled_at',
    'endpoint.disabled_reason',
    'endpoint.origin',
    'endpoint.url_sha256',
    'device.status',
    'session.state',
    'session.ended_reason',
    'subject_at_tenant.blocked_at',
    'subject_at_tenant.inbox_paused_until',
    'subject.blocked_at',
  ])
  assert.equal(values['endpoint.origin'], 'https://hooks.example')
})

test('records what an action replaces, and only the members that differ', async () => {
  await using h = await harness()
  const tenantId = h.shop.tenant.id
  const wanted = { ...h.shop.tenant, name: 'Renamed', allowSimilarName: false }
  await applyTenant(auditedService(h.service, operator('apply', {})), wanted)
  const [applied] = await entriesOf(h)
  assert.deepEqual(
    [applied?.valueBefore, applied?.valueAfter],
    ['Shop', 'Renamed'].map((name) => JSON.stringify({ 'tenant.name': name })),
  )
  const given = { tenantId, kind: 'server', scope: null } as const
  const { key } = await issueKey(h.service, given)
  const rolled = await rollKey(auditedService(h.service, operator('key roll', { key })), {
    key,
    graceMs: 0,
  })
  const entry = (await entriesOf(h)).at(-1)
  assert.deepEqual(JSON.parse(entry?.target ?? ''), { key, successor: rolled.key })
  assert.equal(entry?.tenantId, tenantId)
  assert.deepEqual(Object.keys(JSON.parse(entry?.valueAfter ?? '')), ['key.revoked_at'])
})
