import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import {
  type AuditEntry,
  type AuditTarget,
  auditLeaf,
  hex,
  markedEntries,
  auditMarker,
} from '../../src/domain/audit.ts'
import { ocsfEvent } from '../../src/domain/audit-ocsf.ts'
import { listAudit } from '../../src/operations/admin/list-audit.ts'
import { readingService, recordAction, recordPause } from '../../src/operations/audit/audit.ts'
import { auditedValues, changedValues } from '../../src/operations/audit/audited-values.ts'
import {
  CREATED_AT as NOW,
  DEVICE_ID,
  deviceWith,
  SESSION_ID,
  sessionWith,
  SUBJECT_ID,
  TENANT_ID,
  tenantWith,
} from '../records.ts'
import type { Work } from '../../src/ports/work.ts'
import { serviceOver } from './stub-service.ts'

/*
 * What the audit log says of an action: each member has a value of its own, so that none can be
 * swapped with another one, or be left out.
 */
const none = () => undefined
const sha256 = (...parts: readonly Uint8Array[]) =>
  new Uint8Array(hash('sha256', Buffer.concat(parts), 'buffer'))

const TENANT = tenantWith({
  demo: true,
  environment: 'sandbox',
  sessionEndpoint: 'https://bank.example/bond',
  retention: { audit: 400 },
  limits: {},
  logo: 'a.png',
  suspendedAt: 7,
})
const KEY = {
  tenantId: TENANT_ID,
  kind: 'server',
  name: 'ci',
  scope: null,
  revokedAt: 8,
  expiresAt: 9,
  hash: 'h',
}
const ENDPOINT = {
  tenantId: TENANT_ID,
  url: 'https://hook.example:8443/path?secret=1',
  events: ['session.bonded'],
  scheme: 'v1',
  loggedCharacters: 80,
  previousUntil: 10,
  disabledAt: 11,
  disabledReason: 'gone',
  sealedSecrets: 'sealed',
}
const REFERENCE = {
  tenantId: TENANT_ID,
  subjectId: SUBJECT_ID,
  subjectRef: 'user-1',
  blockedAt: 12,
  inboxPausedUntil: 13,
  inboxReports: 2,
}

/** A store in which every target of {@link TARGET} exists. @param added what it has recorded */
function storeWith(added: AuditEntry[] = [], personKey: string | null = 'key') {
  const stored: { key: string | undefined } = { key: personKey ?? undefined }
  return serviceOver(
    {
      tenants: { find: () => TENANT, findKey: () => KEY },
      webhooks: { findEndpoint: () => ENDPOINT },
      devices: { find: () => deviceWith({ status: 'suspect' }) },
      sessions: { find: () => sessionWith({ state: 'killed', endedReason: 'user_declined' }) },
      receipts: { find: none },
      subjects: {
        find: () => REFERENCE,
        blockedAt: () => 14,
        family: () => [deviceWith()],
      },
      audit: {
        lock: none,
        last: () => added.at(-1),
        add: (entry: AuditEntry) => void added.push(entry),
        personKey: () => stored.key,
        addPersonKey: (_: string, key: string) => void (stored.key = key),
        list: (query: object) => [query],
      },
    },
    {
      keys: {
        sha256: (text: string) => `sha256 ${text}`,
        sha256Bytes: sha256,
        referenceOf: (key: string, id: string) => `${key} ${id}`,
      },
      random: { base62: (digits: number) => 'r'.repeat(digits), id: () => new Uint8Array(16) },
    },
  )
}

const TARGET = {
  tenantId: TENANT_ID,
  key: 'k1',
  successor: 'k2',
  endpointId: 'we_1',
  eventId: 'evt_1',
  sessionId: SESSION_ID,
  deviceId: DEVICE_ID,
  subjectId: SUBJECT_ID,
  subjectRef: 'user-1',
} as AuditTarget

const read = (target: AuditTarget) => {
  const service = storeWith()
  return service.store.read((tables) => auditedValues(service, tables, target))
}

test('an entry shows each documented member of a row, and no other one', async () => {
  assert.deepEqual(await read(TARGET), {
    'tenant.name': 'Example Bank',
    'tenant.environment': 'sandbox',
    'tenant.demo': true,
    'tenant.origins': ['https://bank.example'],
    'tenant.workflows': [{ name: 'wire', actions: ['send'] }],
    'tenant.session_endpoint': 'https://bank.example/bond',
    'tenant.retention': { audit: 400 },
    'tenant.limits': {},
    'tenant.logo': 'a.png',
    'tenant.suspended_at': 7,
    'key.kind': 'server',
    'key.name': 'ci',
    'key.scope': null,
    'key.revoked_at': 8,
    'key.expires_at': 9,
    'endpoint.events': ['session.bonded'],
    'endpoint.scheme': 'v1',
    'endpoint.logged_characters': 80,
    'endpoint.previous_until': 10,
    'endpoint.disabled_at': 11,
    'endpoint.disabled_reason': 'gone',
    'endpoint.origin': 'https://hook.example:8443',
    'endpoint.url_sha256': 'sha256 https://hook.example:8443/path?secret=1',
    'device.status': 'suspect',
    'session.state': 'killed',
    'session.ended_reason': 'user_declined',
    'subject_at_tenant.blocked_at': 12,
    'subject_at_tenant.inbox_paused_until': 13,
    'subject.blocked_at': 14,
  })
  assert.deepEqual(await read({}), {})
  assert.deepEqual(await read({ subjectRef: 'user-1' }), {})
})

test('only what an action has changed is in its entry', () => {
  const before = { a: 1, b: [1], c: null }
  const after = { a: 2, b: [1], d: 3 }
  assert.equal(changedValues(before, after), '{"a":1,"c":null}')
  assert.equal(changedValues(after, before), '{"a":2,"d":3}')
  assert.equal(changedValues(before, { ...before }), null)
})

test('an entry has each member of its action, and the hash of the entry before', async () => {
  const added: AuditEntry[] = []
  const service = storeWith(added, null)
  const action = {
    action: 'device block',
    actor: { kind: 'console', name: 'alice', issuer: 'https://id.example', address: '192.0.2.1' },
    requestId: 'req_1',
    target: TARGET,
    reason: 'T-1',
  } as const
  await recordAction(service, action as never, 'not_found')
  const person = 'r'.repeat(43)
  assert.deepEqual(added[0], {
    number: 1,
    at: NOW,
    action: 'device block',
    actorKind: 'console',
    actor: 'alice',
    issuer: 'https://id.example',
    address: '192.0.2.1',
    requestId: 'req_1',
    tenantId: TENANT_ID,
    person: `${person} ${SUBJECT_ID}`,
    target: JSON.stringify({
      key: 'k1',
      successor: 'k2',
      endpoint_id: 'we_1',
      event: `${person} evt_1`,
      session: `${person} ${SESSION_ID}`,
      device: `${person} ${DEVICE_ID}`,
    }),
    valueBefore: null,
    valueAfter: null,
    result: 'not_found',
    reason: 'T-1',
    previous: '',
    contentHash: null,
  })
  const pause = { device: deviceWith(), tenantId: TENANT_ID, before: 3, after: 4 }
  const during = { ...service, requestId: 'req_2' } as typeof service
  await during.store.write((tables) =>
    recordPause(during, tables, { action: 'declineSession', ...pause }),
  )
  const { target, valueBefore, valueAfter, ...second } = added[1] ?? assert.fail()
  assert.deepEqual(
    [second.number, second.action, second.actorKind, second.actor, second.requestId, second.result],
    [2, 'declineSession', 'user', `${person} ${DEVICE_ID}`, 'req_2', 'success'],
  )
  assert.deepEqual(
    [target, valueBefore, valueAfter],
    [
      JSON.stringify({ device: `${person} ${DEVICE_ID}` }),
      '{"subject_at_tenant.inbox_paused_until":3}',
      '{"subject_at_tenant.inbox_paused_until":4}',
    ],
  )
  assert.equal(second.previous, hex(auditLeaf(sha256, added[0] as AuditEntry)))
})

test('the audit log is narrowed to the user of a target, or else to its tenant', async () => {
  const service = storeWith()
  const list = (target: AuditTarget, over = service) =>
    listAudit(over, { target, query: { limit: 5, after: 2 } })
  const common = { limit: 5, after: 2, hasContent: true }
  assert.deepEqual(await list({}), [{ ...common, tenantId: undefined }])
  assert.deepEqual(await list({ tenantId: TENANT_ID }), [{ ...common, tenantId: TENANT_ID }])
  assert.deepEqual(await list({ tenantId: TENANT_ID, subjectRef: 'user-1' }), [
    { ...common, person: `key ${SUBJECT_ID}` },
  ])
  const unnamed = serviceOver({
    subjects: { find: none },
    sessions: { find: none },
    receipts: { find: none },
    audit: { list: () => [{}] },
  })
  assert.deepEqual(await list({ subjectRef: 'user-2' }, unnamed), [])
})

test('an action that is not declared to change or to read is refused by its name', async () => {
  const tables = { tenants: { list: () => [] }, sessions: { find: none }, subjects: { find: none } }
  const service = (auditClass: 'changes' | 'reads_person' | 'neither') =>
    readingService(serviceOver(tables), { action: 'key list', auditClass })
  const refused = (what: string) => ({
    message: `"key list" is not declared as an action that ${what}`,
  })
  await assert.rejects(
    service('changes').store.write((stored) => stored.tenants.list()),
    refused('changes something'),
  )
  for (const table of ['sessions', 'devices', 'subjects', 'rejections', 'receipts', 'subjectData'])
    await assert.rejects(
      service('neither').store.read(function* (stored) {
        const given = stored as unknown as Readonly<Record<string, { find: () => Work<unknown> }>>
        yield* given[table]?.find() ?? assert.fail(table)
      }),
      refused('reads data of a user'),
    )
  const reads = service('reads_person').store
  assert.equal(await reads.read((stored) => stored.sessions.find(SESSION_ID)), undefined)
  assert.deepEqual(await service('neither').store.read((stored) => stored.tenants.list()), [])
})

test('a marker states how many entries the log has, and other leaves state none', () => {
  for (const entries of [0, 1, 255, 256, 70_000, 2 ** 40]) {
    const marker = auditMarker(entries)
    assert.equal(marker.length, 32)
    assert.equal(markedEntries(marker), entries)
  }
  const other = auditMarker(1)
  other[23] = 0
  assert.deepEqual([markedEntries(other), markedEntries(sha256())], [undefined, undefined])
  assert.equal(
    Buffer.from(auditMarker(258)).toString('latin1'),
    'bonded audit entries v1:\0\0\0\0\0\0\u0001\u0002',
  )
})

const ENTRY: AuditEntry = {
  number: 7,
  at: NOW,
  action: 'tenant update',
  actorKind: 'console',
  actor: 'alice',
  issuer: 'https://id.example',
  address: null,
  requestId: 'req_1' as AuditEntry['requestId'],
  tenantId: null,
  person: null,
  target: '{}',
  valueBefore: null,
  valueAfter: null,
  result: 'success',
  reason: null,
  previous: '',
  contentHash: null,
}
const event = (members: Partial<AuditEntry>) =>
  ocsfEvent({ ...ENTRY, ...members }, '1') as Readonly<Record<string, never>>

test('each action has its activity of OCSF, each actor its type, and each target its entity', () => {
  for (const [action, activity] of [
    ['tenant create', 'Create'],
    ['key issue', 'Create'],
    ['init', 'Create'],
    ['createWebhookEndpoint', 'Create'],
    ['session show', 'Read'],
    ['session list', 'Read'],
    ['session timeline', 'Read'],
    ['session tail', 'Read'],
    ['receipt get', 'Read'],
    ['session rejections', 'Read'],
    ['webhook delivery', 'Read'],
    ['subject export', 'Read'],
    ['webhook delete', 'Delete'],
    ['device remove', 'Delete'],
    ['subject erase', 'Delete'],
    ['device block', 'Update'],
    ['list', 'Update'],
  ] as const) {
    const { activity_id, activity_name, type_uid } = event({ action })
    const id = ['', 'Create', 'Read', 'Update', 'Delete'].indexOf(activity)
    assert.deepEqual([activity_name, activity_id, type_uid], [activity, id, 300_400 + id], action)
  }
  for (const [actorKind, type, type_id] of [
    ['operator', 'Admin', 2],
    ['console', 'Admin', 2],
    ['tenant', 'System', 3],
    ['user', 'User', 1],
  ] as const)
    assert.deepEqual(event({ actorKind }).actor, {
      user: { name: 'alice', type, type_id },
      idp: { name: 'https://id.example' },
    })
  const all = { event: 'e', endpoint_id: 'n', key: 'k', session: 's', device: 'd' }
  const names = { event: 'webhook_event', endpoint_id: 'webhook_endpoint' } as Record<
    string,
    string
  >
  const members = Object.keys(all)
  for (const [index, member] of members.entries()) {
    const target = Object.fromEntries(Object.entries(all).slice(index))
    assert.deepEqual(event({ target: JSON.stringify(target), person: 'p' }).entity, {
      type: names[member] ?? member,
      uid: all[member as keyof typeof all],
    })
  }
  assert.deepEqual(event({ person: 'p', tenantId: TENANT_ID }).entity, { type: 'user', uid: 'p' })
  assert.deepEqual(event({ tenantId: TENANT_ID }).entity, { type: 'tenant', uid: TENANT_ID })
  assert.deepEqual(event({}).entity, { type: 'service', uid: 'Bonded Sessions' })
  assert.deepEqual(
    ['192.0.2.1', '2001:db8::1', 'host-1.example'].map(
      (address) => event({ address }).src_endpoint,
    ),
    [{ ip: '192.0.2.1' }, { ip: '2001:db8::1' }, { hostname: 'host-1.example' }],
  )
  const failed = event({ result: 'not_found' })
  assert.deepEqual([failed.status_id, failed.status_code], [2, 'not_found'])
  assert.ok(!('status_code' in event({})) && !('comment' in event({})))
})
