import type { MIGRATIONS } from './migrations.ts'

/** The step of the schema for the browser keys of phones. */
export const BROWSER_KEY_STEP: (typeof MIGRATIONS)[number] = {
  number: 25,
  name: 'browser keys of phones',
  statements: [
    'alter table device add column browser_key_id text',
    'alter table device add column browser_rp_id text',
    'alter table device add column browser_counter bigint',
    'alter table device add column browser_public_key bytea',
    'alter table device add column browser_key text',
    'create index device_by_browser_key on device (browser_key_id) where browser_key_id is not null',
    `create index device_by_browser_rp_id on device (browser_rp_id)
       where browser_rp_id is not null and status <> 'removed'`,
  ],
  expands: true,
}
