import type { AppAttest } from '@bonded/contract'
import { once } from '../../collections/once.ts'
import type { Result } from '../../domain/rejection.ts'
import type { Device } from '../../domain/session.ts'
import type { VerifiedAssertion } from '../../ports/devices.ts'
import type { Work } from '../../ports/work.ts'
import type { CallFacts } from '../../protocol/facts.ts'
import type { Service } from '../service.ts'

/** What a device signed. */
export interface SignedText {
  readonly device: Device
  readonly payload: string
  readonly appAttest: AppAttest
}

/**
 * The facts of a signed call. The assertion is verified when a check first asks for it. Its counter
 * is raised once, also where a unit of work runs the checks again.
 *
 * @param raise stores the counter, if it is higher than the stored one
 */
export function signedFacts(
  service: Service,
  signed: SignedText,
  raise: (counter: number) => boolean | Work<boolean>,
): Pick<CallFacts['attest'], 'assertion' | 'raiseCounter'> {
  return countedFacts(() => verifyAssertion(service, signed), raise)
}

/** Verifies an assertion by the format stored with the device. The request cannot choose it. */
export function verifyAssertion(service: Service, signed: SignedText): Result<VerifiedAssertion> {
  return service.assertionVerifiers[signed.device.format].verify(signed)
}

/** The same for an assertion that is verified otherwise. */
export function countedFacts(
  verify: () => Result<VerifiedAssertion>,
  raise: (counter: number) => boolean | Work<boolean>,
): Pick<CallFacts['attest'], 'assertion' | 'raiseCounter'> {
  const assertion = once(verify)
  let isRaised = false
  return {
    assertion,
    *raiseCounter(): Work<boolean> {
      const verified = assertion()
      if (isRaised || !verified.ok) return isRaised
      const raised = raise(verified.value.counter)
      isRaised = typeof raised === 'boolean' ? raised : yield* raised
      return isRaised
    },
  }
}
