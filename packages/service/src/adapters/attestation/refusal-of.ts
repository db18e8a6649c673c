import type { Rejection } from '@bonded/attestation'
import { refuse } from '../../domain/refusal.ts'

/** A rejection of the attestation package as a refusal of the service. */
export function refusalOf({
  reason,
  step,
}: Rejection<'attestation_invalid' | 'assertion_invalid'>): ReturnType<typeof refuse> {
  return refuse(reason, { step })
}
