import { isDeepStrictEqual } from 'node:util'
import {
  type RegistrationPool,
  registrationPool,
} from '../../packages/server/src/adapters/attestation/registration/registration-thread.ts'
import type { RegistrationTrust } from '../../packages/server/src/adapters/attestation/registration/task.ts'
import { TestClock } from './test-clock.ts'

const pools: { readonly trust: RegistrationTrust; readonly pool: RegistrationPool }[] = []

/**
 * The pool of all services of this process with the same trust, because the start of its thread
 * takes 0.15 s of CPU time. It does not end with a service, and its deadline never passes.
 */
export function sharedPool(trust: RegistrationTrust): RegistrationPool {
  const known = pools.find((one) => isDeepStrictEqual(one.trust, trust))
  const pool = known?.pool ?? registrationPool(trust, new TestClock())
  if (known === undefined) pools.push({ trust, pool })
  return { run: (task) => pool.run(task), [Symbol.asyncDispose]: async () => {} }
}
