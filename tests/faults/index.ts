import { AUTH_FAULTS } from './auth.ts'
import { DEVICE_FAULTS } from './devices.ts'
import { DOMAIN_FAULTS } from './domain.ts'
import { CHANNEL_FAULTS, CONTRACT_FAULTS, HTTP_FAULTS, KEYRING_FAULTS } from './edges.ts'
import type { Fault } from './fault.ts'
import { OPERATION_FAULTS } from './operations.ts'
import { PROOF_FAULTS, WORKER_FAULTS } from './proofs.ts'
import { STORE_FAULTS } from './store.ts'

/** Each is switched on in turn by `npm run faults`. */
export const FAULTS: readonly Fault[] = [
  ...DOMAIN_FAULTS,
  ...OPERATION_FAULTS,
  ...AUTH_FAULTS,
  ...DEVICE_FAULTS,
  ...STORE_FAULTS,
  ...CONTRACT_FAULTS,
  ...HTTP_FAULTS,
  ...CHANNEL_FAULTS,
  ...KEYRING_FAULTS,
  ...PROOF_FAULTS,
  ...WORKER_FAULTS,
]
