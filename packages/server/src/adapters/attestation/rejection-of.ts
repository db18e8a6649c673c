import type { Rejection } from '@bonded/attestation'
import { reject } from '@bonded/core/domain/rejection'

/** Converts a rejection of `@bonded/attestation` into a rejection of the service. */
export function rejectionOf({
  reason,
  step,
}: Rejection<'attestation_invalid' | 'assertion_invalid'>): ReturnType<typeof reject> {
  return reject(reason, { step })
}
