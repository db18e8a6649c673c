import { hash } from 'node:crypto'
import type { TenantId } from '@bonded/contract'
import { deviceRefOf } from '@bonded/core/domain/device-ref'
import { BOND_OF_TENANT_MS, eventOfDevice } from '@bonded/core/domain/events'
import { BREAKER_FAILURES, CLAIM_MS, MAX_RETRY_AFTER_MS } from '@bonded/core/domain/webhooks'
import type {
  DeliveryKey,
  WebhookEndpoint,
  WebhookOwner,
  WebhookTable,
} from '@bonded/core/ports/tables/webhook-table'
import type { Work } from '@bonded/core/ports/work'
import type { Dialect } from '../dialect.ts'
import { changed, row, rows, sent } from '../statement.ts'
import { eventIdOf, writeEvent } from './webhook-events.ts'
import { deliveryFromRow, endpointFromRow, instant } from './webhook-rows.ts'

/** Attempts in the log of a delivery: all of the schedule, and as many retries. */
const MAX_HISTORY = 20

/** A time of another node can be this far ahead. */
const MAX_NODE_DIFFERENCE_MS = 10_000
/** More deliveries than an operator needs to count, and few enough to count often. */
const MAX_COUNTED = 10_000
/** How much of the log a page reads at most. A tenant's filter must not occupy the database. */
const MAX_FILTERED = 1_000
const MAX_ORDINAL = Number.MAX_SAFE_INTEGER

/** The ids of the endpoints with waiting deliveries: a step in the index for each, and no row. */
const WAITING = `with recursive waiting (id) as (
  select min(endpoint_id) from webhook_delivery where due_at is not null
  union all
  select (select min(d.endpoint_id) from webhook_delivery d
          where d.due_at is not null and d.endpoint_id > w.id) from waiting w where w.id is not null)`

/** The subject of a device at each tenant with an endpoint and a recent bond of the subject. */
const TENANTS_OF_DEVICE = `select distinct p.tenant_id, p.subject_id, p.subject_ref
  from device d cross join webhook_endpoint e
    join pairwise_subject p on p.tenant_id = e.tenant_id and p.subject_id = d.subject_id
  where d.id = $1 and exists (
    select 1 from device o join device_continuity c on c.device_id = o.id and c.tenant_id = e.tenant_id
    where o.subject_id = d.subject_id and c.updated_at >= $2)`

/** The endpoints, and the deliveries as queue and log. */
// oxlint-disable-next-line max-lines-per-function -- two tables, a statement for each method
export function webhookTable(dialect: Dialect): WebhookTable {
  const { forUpdate, forWork } = dialect
  return {
    *addEndpoint(endpoint) {
      yield* row(
        `insert into webhook_endpoint
         (id, tenant_id, url, events, scheme, secrets, created_at, logged_characters)
         values ($1, $2, $3, $4, $5, $6, $7, $8)`,
        [
          endpoint.id,
          endpoint.tenantId,
          endpoint.url,
          eventsText(endpoint),
          endpoint.scheme,
          endpoint.sealedSecrets,
          endpoint.createdAt,
          endpoint.loggedCharacters,
        ],
      )
    },

    *findEndpoint(id) {
      const found = yield* row(`select * from webhook_endpoint where id = $1 ${forUpdate}`, [id])
      return found && endpointFromRow(found)
    },

    *endpoints(tenantId) {
      const [of, values] = tenantId === undefined ? ['', []] : ['where tenant_id = $1', [tenantId]]
      const text = `select * from webhook_endpoint ${of} order by created_at, id`
      return (yield* rows(text, values)).map(endpointFromRow)
    },

    *updateEndpoint(endpoint) {
      const { id, url, sealedSecrets, previousUntil, loggedCharacters } = endpoint
      const { disabledAt, disabledReason } = endpoint
      yield* sent(
        `update webhook_endpoint set url = $2, events = $3, secrets = $4, previous_until = $5,
         disabled_at = $6, disabled_reason = $7, logged_characters = $8, failures = 0,
         paused_until = 0 where id = $1`,
        [
          id,
          url,
          eventsText(endpoint),
          sealedSecrets,
          previousUntil,
          disabledAt,
          disabledReason,
          loggedCharacters,
        ],
      )
    },

    *resealEndpoint(id, { before, after }) {
      yield* sent('update webhook_endpoint set secrets = $3 where id = $1 and secrets = $2', [
        id,
        before,
        after,
      ])
    },

    *removeEndpoint(id) {
      yield* sent('delete from webhook_delivery where endpoint_id = $1', [id])
      yield* sent('delete from webhook_endpoint where id = $1', [id])
    },

    *recordEndpoint({ id, url }, { failures, pausedUntil, now, isGone }) {
      const recorded = yield* changed(
        `update webhook_endpoint set failures = $3,
         paused_until = case when paused_until > $4 then paused_until else $4 end,
         last_attempt_at = case when last_attempt_at > $5 then last_attempt_at else $5 end,
         disabled_at = case when $6 = 1 then coalesce(disabled_at, $5) else disabled_at end,
         disabled_reason = case when $6 = 1 then coalesce(disabled_reason, 'gone') else disabled_reason end
         where id = $1 and url = $2`,
        [id, url, failures, pausedUntil, now, isGone ? 1 : 0],
      )
      if (isGone && recorded === 1)
        yield* sent(
          `update webhook_delivery set state = 'held', due_at = null
           where endpoint_id = $1 and state = 'pending'`,
          [id],
        )
    },

    *dueEndpoints(now, limit) {
      const found = yield* rows(
        `${WAITING}, due as (
         select e.* from waiting w join webhook_endpoint e on e.id = w.id
         where e.disabled_at is null and e.paused_until <= $1 and e.leased_until <= $1
         and exists (select 1 from webhook_delivery d where d.endpoint_id = w.id and d.due_at <= $1)
         order by e.last_attempt_at limit $2)
         select due.*, 'deliveries' as waits from due
         union all
         select e.*, 'audit' from webhook_endpoint e where e.tenant_id = 'operator' and e.disabled_at is null
         and e.paused_until <= $1 and e.leased_until <= $1
         and exists (select 1 from audit_entry a where a.number > e.audit_position)`,
        [now, limit],
      )
      const of = (kind: string) => found.filter(({ waits }) => waits === kind).map(endpointFromRow)
      return { deliveries: of('deliveries'), audit: of('audit') }
    },

    *figures(now) {
      const found = yield* row(
        `${WAITING}
         select
           (select count(*) from webhook_endpoint
            where disabled_at is null and failures > 0 and failures >= ${BREAKER_FAILURES}) as breakers,
           (select count(*) from (select 1 from waiting w join webhook_endpoint e on e.id = w.id
              join webhook_delivery d on d.endpoint_id = w.id
              where e.disabled_at is null and d.due_at >= 0 limit ${MAX_COUNTED}) counted) as waiting,
           (select min(first) from (select (select min(d.due_at) from webhook_delivery d
              where d.endpoint_id = w.id and d.due_at >= 0) as first
              from waiting w join webhook_endpoint e on e.id = w.id
              where e.disabled_at is null and e.paused_until <= $1) firsts) as oldest,
           (select min((select a.at from audit_entry a where a.number > e.audit_position
              order by a.number limit 1)) from webhook_endpoint e
            where e.tenant_id = 'operator' and coalesce(e.disabled_reason, 'gone') = 'gone')
             as undelivered`,
        [now],
      )
      return {
        waiting: Number(found?.waiting ?? 0),
        oldestDueMs: Math.max(0, now - (instant(found?.oldest) ?? now)),
        openBreakers: Number(found?.breakers ?? 0),
        oldestAuditMs: Math.max(0, now - (instant(found?.undelivered) ?? now)),
      }
    },

    *claim(id, { now, limit, until, held, leasedUntil }) {
      const due = yield* rows(
        `select * from webhook_delivery where endpoint_id = $1 and due_at between 0 and $2
         order by due_at limit $3 ${forWork}`,
        [id, now, limit],
      )
      if (due.length === 0) return undefined
      const endpoint = yield* lease(id, { now, held, leasedUntil })
      if (endpoint === undefined) return undefined
      const claimed = due.map((found) => ({ ...deliveryFromRow(found), dueAt: until }))
      for (const { ordinal } of claimed)
        yield* sent('update webhook_delivery set due_at = $2 where ordinal = $1', [ordinal, until])
      return { endpoint, claimed }
    },

    lease,

    *releaseAudit(id, { position, held }) {
      yield* sent(
        `update webhook_endpoint set audit_position = $2, leased_until = 0
         where id = $1 and leased_until = $3`,
        [id, position, held],
      )
    },

    *release(id, held) {
      yield* sent(
        'update webhook_endpoint set leased_until = 0 where id = $1 and leased_until = $2',
        [id, held],
      )
    },

    *repairTimes(now) {
      const future = now + MAX_NODE_DIFFERENCE_MS
      // One step in the index: the table grows, and a time in the future is rare.
      const latest = yield* row('select max(created_at) as at from webhook_delivery', [])
      const created =
        Number(latest?.at ?? 0) <= future
          ? 0
          : yield* changed(
              `update webhook_delivery set created_at = $1,
               due_at = case when due_at > $1 then $1 else due_at end where created_at > $2`,
              [now, future],
            )
      const wrong = yield* row(
        'select id from webhook_endpoint where last_attempt_at > $1 or paused_until > $2 limit 1',
        [future, future + MAX_RETRY_AFTER_MS],
      )
      if (wrong === undefined) return created
      // A claim that another node has now is due before this.
      const postponed = yield* changed(
        `update webhook_delivery set due_at = $1 where due_at > $3 and endpoint_id in
         (select id from webhook_endpoint where last_attempt_at > $2)`,
        [now, future, now + CLAIM_MS],
      )
      const endpoints = yield* changed(
        `update webhook_endpoint set paused_until = 0, last_attempt_at = $1
         where last_attempt_at > $2 or paused_until > $3`,
        [now, future, future + MAX_RETRY_AFTER_MS],
      )
      return created + postponed + endpoints
    },

    *futureTimes(now) {
      const found = yield* row(
        `select (select count(*) from webhook_endpoint where last_attempt_at > $1) +
           (select count(*) from webhook_delivery where created_at > $1) as count`,
        [now + MAX_NODE_DIFFERENCE_MS],
      )
      return Number(found?.count ?? 0)
    },

    *record({ ordinal, dueAt, attempts, history }, attempt, verdict) {
      const log = [...history, attempt].slice(-MAX_HISTORY)
      yield* sent(
        `update webhook_delivery set state = $3, due_at = $4, attempts = $5, history = $6
         where ordinal = $1 and due_at = $2`,
        [ordinal, dueAt, verdict.state, verdict.dueAt, attempts + 1, JSON.stringify(log)],
      )
    },

    *add({ endpoint, eventId, type, payload, now }) {
      yield* sent(
        `insert into webhook_delivery (event_id, endpoint_id, tenant_id, type, payload, created_at, state, due_at)
         values ($1, $2, $3, $4, $5, $6, 'pending', $6)`,
        [eventId, endpoint.id, endpoint.tenantId, type, payload, now],
      )
    },

    *addDeviceEvent(id, { type, at, about }) {
      for (const found of yield* rows(TENANTS_OF_DEVICE, [id, at - BOND_OF_TENANT_MS])) {
        const tenantId = found.tenant_id as TenantId
        const subjectRef = found.subject_ref as string
        const deviceRef = about && deviceRefOf(sha256, { subjectRef, deviceId: about })
        // Of a change of several devices of one user, the tenant gets one event.
        const subject = `${tenantId}\n${String(found.subject_id)}`
        const eventId = eventIdOf(`${subject}\n${type}\n${at}\n${deviceRef ?? ''}`)
        const event = eventOfDevice(type, at, {
          subject_ref: subjectRef,
          ...(deviceRef === null ? {} : { device_ref: deviceRef }),
        })
        yield* writeEvent(event, { eventId, at, tenantId, sessionId: null })
      }
    },

    *deliveries({ tenantId, state, type, endpointId, before, limit }) {
      const from = before === undefined ? MAX_ORDINAL : yield* ordinalOf(tenantId, before)
      // Two forms, so that each uses the index that is in the order of the page.
      const whose =
        state === undefined ? "tenant_id = $1 and $2 = ''" : 'tenant_id = $1 and state = $2'
      const newest = `select * from webhook_delivery where ${whose} and ordinal < $3 order by ordinal desc`
      const scope = [tenantId, state ?? '', from] as const
      const found = yield* rows(
        `select * from (${newest} limit ${MAX_FILTERED}) part
         where $4 in ('', type) and $5 in ('', endpoint_id) order by ordinal desc limit $6`,
        [...scope, type ?? '', endpointId ?? '', limit],
      )
      const deliveries = found.map(deliveryFromRow)
      if (deliveries.length === limit) return { deliveries, next: deliveries.at(-1) ?? null }
      const last = yield* row(`${newest} limit 1 offset ${MAX_FILTERED - 1}`, scope)
      return { deliveries, next: last === undefined ? null : deliveryFromRow(last) }
    },

    *deliveriesOf(id) {
      const found = yield* rows(
        `select * from webhook_delivery where event_id = $1 order by ordinal ${forUpdate}`,
        [id],
      )
      return found.map(deliveryFromRow)
    },

    *retry({ ordinal }, now) {
      yield* sent(
        `update webhook_delivery set state = 'pending', due_at = $2, attempts = 0 where ordinal = $1`,
        [ordinal, now],
      )
    },

    *recover(id, since, now) {
      return yield* changed(
        `update webhook_delivery set state = 'pending', due_at = $3, attempts = 0
         where endpoint_id = $1 and created_at >= $2 and state in ('failed', 'held')`,
        [id, since, now],
      )
    },
  }
}

/** The lease is the right of one node to send to an endpoint. */
const lease: WebhookTable['lease'] = function* (id, { now, held, leasedUntil }) {
  const leased = yield* row(
    `update webhook_endpoint set leased_until = $4 where id = $1 and disabled_at is null
     and paused_until <= $2 and (leased_until <= $2 or leased_until = $3) returning *`,
    [id, now, held, leasedUntil],
  )
  return leased && endpointFromRow(leased)
}

/** The place of a delivery in the log; 0 if the tenant has no such delivery. */
function* ordinalOf(tenantId: WebhookOwner, { eventId, endpointId }: DeliveryKey): Work<number> {
  const found = yield* row(
    'select ordinal from webhook_delivery where event_id = $1 and endpoint_id = $2 and tenant_id = $3',
    [eventId, endpointId, tenantId],
  )
  return Number(found?.ordinal ?? 0)
}

function eventsText({ events }: WebhookEndpoint): string | null {
  return events === null ? null : JSON.stringify(events)
}

function sha256(text: string): string {
  return hash('sha256', text, 'base64url')
}
