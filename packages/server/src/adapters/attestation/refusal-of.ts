import type { Rejection } from '@bonded/attestation'
import { refuse } from '@bonded/core/domain/refusal'

/** Converts a rejection of `@bonded/attestation` into a refusal of the service. */
export function refusalOf({
  reason,
  step,
}: Rejection<'attestation_invalid' | 'assertion_invalid'>): ReturnType<typeof refuse> {
  return refuse(reason, { step })
}
