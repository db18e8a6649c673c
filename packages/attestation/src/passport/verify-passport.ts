import { requireBytes } from '../arguments.ts'
import type { Instant } from '../environment.ts'
import { accept, type Result } from '../result.ts'
import { verifyActiveAuthentication } from './active-authentication.ts'
import type { CountryTrust } from './country-trust.ts'
import { verifyPassiveAuthentication } from './passive-authentication.ts'
import type { ActiveAuthenticationStep, PassiveAuthenticationStep } from './steps.ts'

/** What `verifyPassport` is given: files as a phone read them, and the response of the chip. */
export interface PassportInput {
  readonly sod: Uint8Array
  readonly dg1: Uint8Array
  readonly dg14?: Uint8Array | undefined
  readonly dg15?: Uint8Array | undefined
  /** The signature of Active Authentication, over `challenge`. */
  readonly activeAuthentication?: Uint8Array | undefined
  /** The eight bytes that the chip was given. */
  readonly challenge: Uint8Array
  readonly now: Instant
}

/**
 * A verified passport: `document` after passive authentication, `chip` if Active Authentication
 * succeeded too. Personal data is limited to the issuing state and the document number.
 */
export type VerifiedPassport = {
  /** ICAO code without fillers, such as `D` or `NLD`. */
  readonly issuingState: string
  readonly documentNumber: string
} & (
  | { readonly tier: 'chip' }
  | {
      readonly tier: 'document'
      /** The check of Active Authentication that failed. */
      readonly chipStep: ActiveAuthenticationStep
    }
)

/**
 * Verifies a passport: passive authentication first, then Active Authentication.
 *
 * @throws {TypeError} for an argument of another type, such as a string in place of bytes
 *
 * @example
 * import { CountryTrust, readStateCertificate, verifyPassport } from '@bonded/attestation/passport'
 * import { passportSample as sample } from '@bonded/attestation/samples'
 *
 * const trust = new CountryTrust([readStateCertificate(sample.countryCertificate)])
 * const { sod, dg1, dg14, dg15, challenge, signature, now } = sample
 * const passport = verifyPassport(
 *   { sod, dg1, dg14, dg15, activeAuthentication: signature, challenge, now },
 *   trust,
 * )
 * console.log(passport.ok && passport.value.tier) // chip
 */
export function verifyPassport(
  input: PassportInput,
  trust: CountryTrust,
): Result<VerifiedPassport, 'passport_invalid', PassiveAuthenticationStep> {
  const { activeAuthentication, challenge } = input
  requireBytes({ challenge }, { activeAuthentication })
  const document = verifyPassiveAuthentication(input, trust)
  if (!document.ok) return document
  const { listed, mrz } = document.value
  const { issuingState, documentNumber } = mrz
  const chip = verifyActiveAuthentication({
    ...listed,
    challenge,
    signature: activeAuthentication,
  })
  return chip.ok
    ? accept({ tier: 'chip', issuingState, documentNumber })
    : accept({ tier: 'document', chipStep: chip.step, issuingState, documentNumber })
}
