import type { MIGRATIONS } from './migrations.ts'

/** The audit log, and how much of it is in the log of receipts. */
export const AUDIT_STEP: (typeof MIGRATIONS)[number] = {
  number: 37,
  name: 'audit log',
  statements: [
    `create table audit_entry (
      number bigint primary key, at bigint not null, action text not null,
      actor_kind text not null, actor text not null, issuer text, address text,
      request_id text not null, tenant_id text, person text, target text not null,
      value_before text, value_after text, result text not null, reason text,
      previous text not null)`,
    'create index audit_entry_by_age on audit_entry (at)',
    'create index audit_entry_by_person on audit_entry (person, number) where person is not null',
    'create index audit_entry_by_tenant on audit_entry (tenant_id, number)',
    'create table audit_person_key (subject_id text primary key, key text not null)',
    'alter table receipt_log add column audit_size bigint not null default 0',
  ],
  expands: true,
}
