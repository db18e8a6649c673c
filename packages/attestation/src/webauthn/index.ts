export { type AuthenticatorHeader, readHeader } from './authenticator-header.ts'
export type { AttestationRoot } from './certificate-path.ts'
export { APPLE_WEBAUTHN_ROOT } from './roots.ts'
export {
  appleWebAuthnRoots,
  attestationRoots,
  BROWSER_KEY_STORES,
  type StatementTrust,
} from './trust.ts'
export {
  type VerifiedWebAuthnAssertion,
  type WebAuthnAssertionInput,
  type WebAuthnAssertionStep,
  verifyWebAuthnAssertion,
} from './verify-assertion.ts'
export {
  type RegisteredWebAuthnKey,
  type WebAuthnRegistrationInput,
  type WebAuthnRegistrationStep,
  verifyWebAuthnRegistration,
} from './verify-registration.ts'
