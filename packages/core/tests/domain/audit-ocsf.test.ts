import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RequestId, TenantId } from '@bonded/contract'
import type { AuditEntry } from '../../src/domain/audit.ts'
import { ocsfEvent } from '../../src/domain/audit-ocsf.ts'

const ENTRY: AuditEntry = {
  number: 7,
  at: 1_772_323_200_000,
  action: 'device block',
  actorKind: 'operator',
  actor: 'alice',
  issuer: null,
  address: '192.0.2.1',
  requestId: 'req_a' as RequestId,
  tenantId: null,
  person: 'p',
  target: '{"device":"d"}',
  valueBefore: '{"device.status":"active"}',
  valueAfter: '{"device.status":"blocked"}',
  result: 'success',
  reason: 'T-1',
  previous: 'ff',
  contentHash: null,
}

test('writes an entry as Entity Management of OCSF 1.3.0', () => {
  assert.deepEqual(ocsfEvent(ENTRY, '0.1.0'), {
    activity_id: 3,
    activity_name: 'Update',
    actor: { user: { name: 'alice', type: 'Admin', type_id: 2 } },
    category_uid: 3,
    class_name: 'Entity Management',
    class_uid: 3004,
    comment: 'T-1',
    entity: { type: 'device', uid: 'd', data: { 'device.status': 'active' } },
    entity_result: { type: 'device', uid: 'd', data: { 'device.status': 'blocked' } },
    message: 'device block',
    metadata: {
      correlation_uid: 'req_a',
      event_code: 'device block',
      log_name: 'audit',
      product: { name: 'Bonded Sessions', vendor_name: 'Bonded Sessions', version: '0.1.0' },
      sequence: 7,
      uid: '7',
      version: '1.3.0',
    },
    severity_id: 1,
    src_endpoint: { ip: '192.0.2.1' },
    status_id: 1,
    time: 1_772_323_200_000,
    type_uid: 300_403,
    unmapped: {
      actor_kind: 'operator',
      person: 'p',
      previous: 'ff',
      tenant_id: null,
      target: { device: 'd' },
    },
  })
})

test('names the activity, the entity, and the result of each kind of action', () => {
  const of = (given: Partial<AuditEntry>) => {
    const event = ocsfEvent({ ...ENTRY, target: '{}', ...given }, '') as {
      activity_name: string
      entity: { type: string; uid: string }
      status_id: number
      status_code?: string
      src_endpoint?: object
    }
    return event
  }
  const activityOf = (action: string) => of({ action }).activity_name
  assert.deepEqual(['tenant create', 'createWebhookEndpoint', 'key issue'].map(activityOf), [
    'Create',
    'Create',
    'Create',
  ])
  assert.deepEqual(['session show', 'receipt get', 'audit list'].map(activityOf), [
    'Read',
    'Read',
    'Read',
  ])
  assert.deepEqual(['webhook delete', 'deleteWebhookEndpoint', 'subject erase'].map(activityOf), [
    'Delete',
    'Delete',
    'Delete',
  ])
  assert.deepEqual(['key roll', 'blockSubject'].map(activityOf), ['Update', 'Update'])
  const tenantId = 'ten_a' as TenantId
  const tenant = of({ person: null, tenantId, result: 'not_found', address: 'admin-1' })
  assert.deepEqual(
    [tenant.entity.type, tenant.entity.uid, tenant.status_id, tenant.status_code],
    ['tenant', tenantId, 2, 'not_found'],
  )
  assert.deepEqual(tenant.src_endpoint, { hostname: 'admin-1' })
  assert.equal(of({}).entity.type, 'user')
  assert.equal(of({ person: null }).entity.type, 'service')
})
