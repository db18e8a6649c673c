import type { Instant } from '../../../domain/session.ts'
import { authenticateChip } from './active-authentication.ts'
import { authenticateDataGroups, authenticateSecurityObject } from './passive-authentication.ts'
import type { ActiveStep, PassiveStep } from './step.ts'
import type { CountryTrust } from './trust.ts'

/** What a phone read from a passport, and what the chip answered. */
export interface PassportProof {
  readonly sod: Buffer
  readonly dg1: Buffer
  readonly dg14?: Buffer | undefined
  readonly dg15?: Buffer | undefined
  readonly activeAuthentication?: Buffer | undefined
  readonly challenge: Buffer
}

/** What came of it. Nothing of the holder: the state, and the number for whoever makes a keyed hash of it. */
export type PassportVerdict =
  | { readonly tier: 'none'; readonly step: PassiveStep }
  | {
      readonly tier: 'document'
      readonly step: ActiveStep
      readonly issuingState: string
      readonly documentNumber: string
    }
  | { readonly tier: 'chip'; readonly issuingState: string; readonly documentNumber: string }

/** Judges a passport: passive authentication gives `document`, Active Authentication on top of it `chip`. */
export function judgePassport(
  proof: PassportProof,
  { trust, now }: { trust: CountryTrust; now: Instant },
): PassportVerdict {
  const object = authenticateSecurityObject(proof.sod, { trust, now })
  if (!object.ok) return { tier: 'none', step: object.step }
  const document = authenticateDataGroups(proof, { object: object.value, now })
  if (!document.ok) return { tier: 'none', step: document.step }
  const { listed, mrz } = document.value
  const holder = { issuingState: mrz.issuingState, documentNumber: mrz.documentNumber }
  const chip = authenticateChip({
    ...listed,
    challenge: proof.challenge,
    signature: proof.activeAuthentication,
  })
  return chip.ok ? { tier: 'chip', ...holder } : { tier: 'document', step: chip.step, ...holder }
}
