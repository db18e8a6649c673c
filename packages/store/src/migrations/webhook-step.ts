import type { MIGRATIONS } from './migrations.ts'

/** The step of the schema for webhooks. */
export const WEBHOOK_STEP: (typeof MIGRATIONS)[number] = {
  number: 24,
  name: 'webhooks',
  statements: webhooks('integer primary key'),
  postgres: webhooks('bigint generated always as identity primary key'),
  expands: true,
}

/** Finds the deliveries of a tenant in one state without reading its other ones. */
export const WEBHOOK_STATE_STEP: (typeof MIGRATIONS)[number] = {
  number: 26,
  name: 'webhook deliveries by state',
  statements: [
    'create index webhook_delivery_by_state on webhook_delivery (tenant_id, state, ordinal)',
  ],
  expands: true,
}

/** Leases of endpoints, and indexes that hold what waits and what fails, not what has ended. */
export const WEBHOOK_LEASE_STEP: (typeof MIGRATIONS)[number] = {
  number: 31,
  name: 'leases of webhook endpoints',
  statements: [
    'alter table webhook_endpoint add column leased_until bigint not null default 0',
    'create index webhook_delivery_waiting on webhook_delivery (endpoint_id, due_at) where due_at is not null',
    'drop index webhook_delivery_due',
    'create index webhook_endpoint_failing on webhook_endpoint (failures) where failures > 0',
  ],
  expands: true,
}

/** How much of a response the log keeps for an endpoint. */
export const WEBHOOK_LOG_STEP: (typeof MIGRATIONS)[number] = {
  number: 35,
  name: 'logged characters of webhook endpoints',
  statements: [
    'alter table webhook_endpoint add column logged_characters bigint not null default 80',
  ],
  expands: true,
}

/**
 * The endpoints, and the deliveries: one table that is both the queue and the log.
 *
 * @param ordinal the type of the column that numbers the deliveries
 */
function webhooks(ordinal: string): readonly string[] {
  return [
    'alter table tenant add column notifies bigint not null default 0',
    'alter table session add column notifies bigint not null default 0',
    `create table webhook_endpoint (
      id text primary key, tenant_id text not null, url text not null, events text, scheme text not null,
      secrets text not null, previous_until bigint, created_at bigint not null,
      disabled_at bigint, disabled_reason text,
      failures bigint not null default 0, paused_until bigint not null default 0,
      last_attempt_at bigint not null default 0)`,
    'create index webhook_endpoint_by_tenant on webhook_endpoint (tenant_id)',
    `create table webhook_delivery (
      ordinal ${ordinal}, event_id text not null, endpoint_id text not null, tenant_id text not null,
      session_id text, type text not null, payload text not null, created_at bigint not null,
      state text not null, due_at bigint, attempts bigint not null default 0, history text not null default '[]')`,
    'create unique index webhook_delivery_by_event on webhook_delivery (event_id, endpoint_id)',
    'create index webhook_delivery_due on webhook_delivery (endpoint_id, due_at)',
    'create index webhook_delivery_by_tenant on webhook_delivery (tenant_id, ordinal)',
    'create index webhook_delivery_by_age on webhook_delivery (created_at)',
  ]
}
