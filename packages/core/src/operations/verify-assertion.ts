import type { AppAttest } from '@bonded/contract'
import type { Result } from '../domain/rejection.ts'
import type { Device } from '../domain/session.ts'
import type { VerifiedAssertion } from '../ports/devices.ts'
import type { Service } from './service.ts'

/** Verifies an assertion by the format stored with the device. The request cannot choose it. */
export function verifyAssertion(
  service: Service,
  assertion: { device: Device; payload: string; appAttest: AppAttest },
): Result<VerifiedAssertion> {
  return service.assertionVerifiers[assertion.device.format].verify(assertion)
}
