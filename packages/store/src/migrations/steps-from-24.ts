import { BROWSER_KEY_STEP } from './browser-key-step.ts'
import type { MIGRATIONS } from './migrations.ts'
import { RECEIPT_STEPS } from './receipt-steps.ts'
import { WEBHOOK_LEASE_STEP, WEBHOOK_STATE_STEP, WEBHOOK_STEP } from './webhook-step.ts'

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
]
