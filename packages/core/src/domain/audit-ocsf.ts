import type { AuditEntry } from './audit.ts'

/** The version of the Open Cybersecurity Schema Framework that exported entries have. */
export const OCSF_VERSION = '1.3.0'
/** Entity Management, of the category Identity & Access Management. */
const CATEGORY = 3
const CLASS = 3004
const PRODUCT = 'Bonded Sessions'

/** Activities of the class, by a word of the action. Other actions update something. */
const ACTIVITIES = [
  [/(?:^| )(?:create|issue|init)/, 1, 'Create'],
  [/ (?:show|list|timeline|tail|get|rejections|delivery|export)$/, 2, 'Read'],
  [/(?:^| )(?:delete|remove|erase)/, 4, 'Delete'],
  [/(?:)/, 3, 'Update'],
] as const

/** Members of a target, the most specific first, and the type of the entity that they name. */
const ENTITIES = [
  ['event', 'webhook_event'],
  ['endpoint_id', 'webhook_endpoint'],
  ['key', 'key'],
  ['session', 'session'],
  ['device', 'device'],
] as const

/** The types of users of OCSF. */
const USER_TYPES = {
  operator: { type: 'Admin', type_id: 2 },
  console: { type: 'Admin', type_id: 2 },
  tenant: { type: 'System', type_id: 3 },
  user: { type: 'User', type_id: 1 },
} as const

/** An entry in the shape of OCSF. What the class has no member for is in `unmapped`. */
export function ocsfEvent(entry: AuditEntry, productVersion: string): object {
  const [, activity_id, activity_name] = ACTIVITIES.find(([words]) =>
    words.test(entry.action),
  ) as (typeof ACTIVITIES)[number]
  const target = JSON.parse(entry.target) as Readonly<Record<string, string>>
  const named = ENTITIES.find(([member]) => target[member] !== undefined)
  const { tenantId, person } = entry
  const entity =
    named !== undefined
      ? { type: named[1], uid: target[named[0]] }
      : person !== null
        ? { type: 'user', uid: person }
        : { type: tenantId === null ? 'service' : 'tenant', uid: tenantId ?? PRODUCT }
  const isSuccess = entry.result === 'success'
  return {
    activity_id,
    activity_name,
    actor: {
      user: { name: entry.actor, ...USER_TYPES[entry.actorKind] },
      ...(entry.issuer !== null && { idp: { name: entry.issuer } }),
    },
    category_uid: CATEGORY,
    class_uid: CLASS,
    class_name: 'Entity Management',
    ...(entry.reason !== null && { comment: entry.reason }),
    entity: { ...entity, ...dataOf(entry.valueBefore) },
    ...(entry.valueAfter !== null && {
      entity_result: { ...entity, ...dataOf(entry.valueAfter) },
    }),
    message: entry.action,
    metadata: {
      correlation_uid: entry.requestId,
      event_code: entry.action,
      log_name: 'audit',
      product: { name: PRODUCT, vendor_name: PRODUCT, version: productVersion },
      sequence: entry.number,
      uid: String(entry.number),
      version: OCSF_VERSION,
    },
    severity_id: 1,
    ...(entry.address !== null && { src_endpoint: endpointOf(entry.address) }),
    status_id: isSuccess ? 1 : 2,
    ...(!isSuccess && { status_code: entry.result }),
    time: entry.at,
    type_uid: CLASS * 100 + activity_id,
    unmapped: {
      actor_kind: entry.actorKind,
      person,
      previous: entry.previous,
      tenant_id: tenantId,
      target,
    },
  }
}

function dataOf(values: string | null): object {
  return values === null ? {} : { data: JSON.parse(values) as object }
}

/** An IP address has a colon, or digits and dots only. */
function endpointOf(address: string): object {
  return /:|^[\d.]+$/.test(address) ? { ip: address } : { hostname: address }
}
