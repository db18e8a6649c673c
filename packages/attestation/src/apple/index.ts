export type { AppleApp, AppleEnvironment, BundleVersions } from './app.ts'
export { type TrustAnchor, trustAnchor } from './certificate-chain.ts'
export type { Extensions } from './extensions.ts'
export { APP_ATTESTATION_ROOT, APPLE_ROOT_G3 } from './roots.ts'
export { type AppleTrust, appleTrust } from './trust.ts'
export {
  type AppAssertionInput,
  type AppAssertionStep,
  type VerifiedAppAssertion,
  verifyAppAssertion,
} from './verify-assertion.ts'
export {
  type AppAttestationInput,
  type AppAttestationStep,
  type AttestedAppKey,
  verifyAppAttestation,
} from './verify-attestation.ts'
export {
  type AppReceiptInput,
  type AppReceiptResult,
  type AppReceiptStep,
  type VerifiedAppReceipt,
  verifyAppReceipt,
} from './verify-receipt.ts'
