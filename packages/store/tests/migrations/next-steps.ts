import { MIGRATIONS, type Step } from '../../src/migrations/migrations.ts'
import { ADD_TENANTS } from '../tables/table-operations.ts'

/** The steps of an artificial next version: one expands the schema, and one rewrites rows. */
export const NEXT_STEPS: readonly [Step, Step] = [
  {
    number: 2,
    name: 'labels of sessions',
    statements: [
      'alter table session add column label text',
      'create index session_by_label on session (label) where label is not null',
      'create table label_color (label text primary key, color text not null)',
    ],
    expands: true,
  },
  {
    number: 3,
    name: 'labels of stored sessions; names of tenants in capitals',
    statements: [
      `update session set label = workflow || '/' || action`,
      'update tenant set name = upper(name)',
      `insert into label_color (label, color) select distinct label, 'gray' from session`,
    ],
    postgres: [
      `update session set label = concat_ws('/', workflow, action)`,
      'update tenant set name = upper(name)',
      `insert into label_color (label, color) select distinct label, 'gray' from session`,
    ],
    expands: true,
  },
]

/** Two tenants and a session, which the steps change. */
export const STORED_ROWS = `${ADD_TENANTS};
  insert into session (session_key, id, tenant_id, root_key_id, state, seq, workflow, action,
    policy, created_at, expires_at, session_ttl_ms, challenge_ttl_ms, bonded_ttl_ms,
    valid_assertions)
  values (1, 'sess_a', 'ten_a', 'k1', 'pending', 1, 'pay', 'send', '{}', 0, 1, 1, 1, 1, 0)`

/** Makes this process a later version with these steps, until the end of the scope. */
export function withSteps(
  steps: readonly Step[],
): Disposable & { readonly names: readonly string[] } {
  const all = MIGRATIONS as Step[]
  all.push(...steps)
  return {
    names: steps.map(({ number, name }) => `${number} ${name}`),
    [Symbol.dispose]: () => void all.splice(-steps.length),
  }
}
