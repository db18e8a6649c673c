import type { MIGRATIONS } from './migrations.ts'

/** The address on a tenant's own backend that creates a session for its page. */
export const SESSION_ENDPOINT_STEP: (typeof MIGRATIONS)[number] = {
  number: 30,
  name: 'session endpoints of tenants',
  statements: ['alter table tenant add column session_endpoint text'],
  expands: true,
}
