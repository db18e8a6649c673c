import type { MIGRATIONS } from './migrations.ts'

/** The step of the schema for receipts. */
export const RECEIPT_STEP: (typeof MIGRATIONS)[number] = {
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
