import { AUDIT_STEP } from './audit-step.ts'
import { BROWSER_KEY_STEP } from './browser-key-step.ts'
import type { MIGRATIONS } from './migrations.ts'
import { CLOSED_LOGS_STEP, RECEIPT_STEPS } from './receipt-steps.ts'
import {
  WEBHOOK_LEASE_STEP,
  WEBHOOK_LOG_STEP,
  WEBHOOK_STATE_STEP,
  WEBHOOK_STEP,
} from './webhook-step.ts'

/** The steps of the schema from number 24 on. A new one goes to the end. */
export const STEPS_FROM_24: typeof MIGRATIONS = [
  WEBHOOK_STEP,
  BROWSER_KEY_STEP,
  WEBHOOK_STATE_STEP,
  ...RECEIPT_STEPS,
  {
    number: 30,
    name: 'session endpoints of tenants',
    statements: ['alter table tenant add column session_endpoint text'],
    expands: true,
  },
  WEBHOOK_LEASE_STEP,
  {
    number: 32,
    name: 'subjects by their reference',
    statements: [
      // No subject may answer to the reference of another. Of several with one, none keeps it: each
      // gets its own at its next bond, and a session that names the reference accepts no other.
      `delete from pairwise_subject where (tenant_id, subject_ref) in (
        select tenant_id, subject_ref from pairwise_subject
        group by tenant_id, subject_ref having count(*) > 1)`,
      'create unique index pairwise_subject_by_ref on pairwise_subject (tenant_id, subject_ref)',
      'alter table pairwise_subject add column blocked_at bigint',
    ],
    expands: true,
  },
  CLOSED_LOGS_STEP,
  {
    number: 34,
    name: 'reasons of rejections',
    statements: [
      `create table rejection (
        tenant_id text not null, at bigint not null, request_id text not null,
        session_id text not null, subject_ref text, reason text not null, step text,
        primary key (tenant_id, at, request_id))`,
      'create index rejection_by_age on rejection (at)',
      'create index rejection_by_request on rejection (request_id)',
      'create index rejection_by_session on rejection (session_id)',
      `create index rejection_by_subject on rejection (tenant_id, subject_ref, at)
       where subject_ref is not null`,
    ],
    expands: true,
  },
  WEBHOOK_LOG_STEP,
  {
    number: 36,
    name: 'settings that versions know',
    statements: ['create table known_setting (name text primary key, version text not null)'],
    expands: true,
  },
  AUDIT_STEP,
  {
    number: 38,
    name: 'suspended tenants',
    statements: ['alter table tenant add column suspended_at bigint'],
    expands: true,
  },
  {
    number: 39,
    name: 'expiry and last use of server credentials',
    statements: [
      'alter table server_credential add column expires_at bigint',
      'alter table server_credential add column last_used_at bigint',
      `create index server_credential_by_expiry on server_credential (expires_at)
       where expires_at is not null`,
    ],
    expands: true,
  },
  {
    number: 40,
    name: 'levels of nodes',
    statements: [],
    // Nodes of older versions write none.
    postgres: ['alter table node_message add column level integer not null default 0'],
    expands: true,
  },
  {
    number: 41,
    name: 'audit entries to an endpoint of the operator',
    statements: [
      'alter table webhook_endpoint add column audit_position bigint not null default 0',
    ],
    expands: true,
  },
  {
    number: 42,
    name: 'sessions in inboxes',
    statements: [
      'alter table session add column inbox_subject_id text',
      `create index session_by_inbox on session (inbox_subject_id, created_at)
       where inbox_subject_id is not null`,
      'alter table pairwise_subject add column inbox_paused_until bigint not null default 0',
      'alter table pairwise_subject add column inbox_reports integer not null default 0',
    ],
    expands: true,
  },
  {
    number: 43,
    name: 'retention of tenants',
    statements: [
      'alter table tenant add column retention text',
      'alter table audit_entry add column content_hash text',
      // A purge reads the rows of each tenant up to the end of its period.
      'drop index session_ended',
      'create index session_ended on session (tenant_id, ended_at) where ended_at is not null',
      'drop index receipt_by_age',
      'create index receipt_by_age on receipt (tenant_id, made_at)',
      'create index webhook_delivery_by_tenant_age on webhook_delivery (tenant_id, created_at)',
      `create index audit_entry_with_content on audit_entry (tenant_id, at)
       where content_hash is null`,
    ],
    expands: true,
  },
  {
    number: 44,
    name: 'wake-ups of phones',
    statements: [
      'create table push_key (number bigint primary key, sealed text not null)',
      // A table of its own: a lock on the devices behind one on the sessions, which an earlier step
      // can hold, would deadlock with the calls of phones.
      `create table push_subscription (device_id text primary key, subject_id text not null,
        endpoint text not null)`,
      'create index push_subscription_by_subject on push_subscription (subject_id)',
      'create index push_subscription_by_endpoint on push_subscription (endpoint)',
      'alter table pairwise_subject add column inbox_woken_at bigint not null default 0',
      `create index pairwise_subject_woken on pairwise_subject (subject_id, inbox_woken_at)
       where inbox_woken_at > 0`,
    ],
    expands: true,
  },
  {
    number: 45,
    name: 'hourly totals of sessions',
    statements: [
      `create table session_total (
        tenant_id text not null, workflow text not null, hour bigint not null,
        created bigint not null, inbox bigint not null, approved bigint not null,
        completed bigint not null, declined bigint not null, reported bigint not null,
        expired bigint not null, stopped bigint not null, step_ups bigint not null,
        browser_proofs bigint not null, rejections bigint not null, latency_ms bigint not null,
        latency_0 bigint not null, latency_1 bigint not null, latency_2 bigint not null,
        latency_3 bigint not null, latency_4 bigint not null, latency_5 bigint not null,
        latency_6 bigint not null, latency_7 bigint not null,
        primary key (tenant_id, hour, workflow))`,
      'create index session_total_by_hour on session_total (hour)',
      `create table session_total_head (
        number bigint primary key, counted_until bigint not null)`,
      'insert into session_total_head (number, counted_until) values (1, 0)',
    ],
    expands: true,
  },
  {
    number: 46,
    name: 'a primary key for each table',
    // SQLite numbers the rows of every table.
    statements: [],
    // A publication of all tables names a deleted row by its key, and without one rejects deletes.
    postgres: ['alter table session_event add primary key (ordinal)'],
    expands: true,
  },
  {
    number: 47,
    name: 'requests of credentials in inboxes',
    statements: [
      `create table inbox_caller (
        tenant_id text not null, subject_id text not null, key_id text not null,
        asked_at bigint not null, since_approval bigint not null,
        since_answer bigint not null, woken_at bigint not null default 0,
        primary key (subject_id, tenant_id, key_id))`,
    ],
    expands: true,
  },
]
