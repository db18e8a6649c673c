import type { MIGRATIONS } from './migrations.ts'

type Step = (typeof MIGRATIONS)[number]

const RECEIPTS: Step = {
  number: 27,
  name: 'receipts',
  statements: [
    'alter table session add column bond_proof text',
    'alter table session add column receipt_due_at bigint',
    'create index session_receipt_due on session (receipt_due_at) where receipt_due_at is not null',
    `create table receipt (
      session_id text not null, state text not null, tenant_id text not null,
      workflow text not null, action text not null, browser_commitment text,
      jws text not null, made_at bigint not null, primary key (session_id, state))`,
    'create index receipt_by_age on receipt (made_at)',
  ],
  expands: true,
}

const LOG: Step = {
  number: 28,
  name: 'the log of receipts',
  statements: [
    // Receipts of the step before have no place in the log, and get one.
    'alter table receipt add column log_index bigint',
    'create index receipt_unlogged on receipt (made_at) where log_index is null',
    `create table receipt_log (
      number bigint primary key, size bigint not null, checkpoint text not null,
      checkpoint_size bigint not null)`,
    `insert into receipt_log (number, size, checkpoint, checkpoint_size) values (1, 0, '', 0)`,
    `create table receipt_log_tile (
      level bigint not null, tile bigint not null, hashes bytea not null, entries bytea,
      appended_at bigint not null, primary key (level, tile))`,
  ],
  expands: true,
}

const WITNESSES: Step = {
  number: 29,
  name: 'witnesses of the log',
  statements: [
    `alter table receipt_log add column cosigned text not null default ''`,
    'alter table receipt_log add column cosigned_size bigint not null default 0',
    'alter table receipt_log add column cosigned_at bigint not null default 0',
    'alter table receipt_log add column witness_due_at bigint not null default 0',
  ],
  expands: true,
}

/** Logs that were closed after a loss of entries. A step of its own, behind later ones. */
export const CLOSED_LOGS_STEP: Step = {
  number: 33,
  name: 'closed logs of receipts',
  statements: [
    `alter table receipt_log add column epoch text not null default ''`,
    'alter table receipt_log add column begun_at bigint not null default 0',
    `alter table receipt_log add column server text not null default ''`,
    'alter table receipt_log add column is_synchronous bigint not null default 0',
    `alter table receipt_log add column refused text not null default ''`,
    `create table receipt_log_closed (
      epoch text primary key, next_epoch text not null, checkpoint text not null,
      checkpoint_size bigint not null, cosigned text not null, cosigned_size bigint not null,
      closed_at bigint not null, reason text not null, statement text not null default '')`,
  ],
  expands: true,
}

/** The steps of the schema for receipts and their log. */
export const RECEIPT_STEPS: readonly Step[] = [RECEIPTS, LOG, WITNESSES]
