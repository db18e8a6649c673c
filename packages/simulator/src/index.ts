export { type AndroidAuthority, createAndroidAuthority } from './android/authority.ts'
export {
  authority,
  type CertificateExtension,
  type CertificateRequest,
  certify,
  certifyBy,
  type Name,
  notAuthority,
  pemOf,
} from './test-pki/certificate.ts'
export * as der from './test-pki/der.ts'
export {
  androidAppId,
  encodeApplicationId,
  encodeKeyDescription,
  encodeRootOfTrust,
  honestDescription,
  type KeyDescriptionFields,
  SIMULATED_APP,
  type SimulatedApp,
  type Tags,
} from './android/description.ts'
export { describeRequest } from '@bonded/phone'
export { PhoneError } from '@bonded/phone'
export { nodeClock, nodeFetch, nodeWebSocket } from './node-platform.ts'
export { type Outcome, OUTCOMES, type Step } from './outcomes.ts'
export { EVIDENCE_PROFILES, type EvidenceProfile } from './evidence.ts'
export { type HandoffInput, readHandoff } from './read-handoff.ts'
export { type ScannedRequest, type ShownSession } from './scanned-request.ts'
export { simulateCarriedPhone, type Random } from './sensors.ts'
export {
  createSimulatedPhone,
  inboxLink,
  PHONE_FORMATS,
  type PhoneFormat,
  type RunOptions,
  type RunResult,
  type SimulatedPhone,
  type SimulatedPhoneOptions,
} from './simulated-phone.ts'
export { type TestAuthority, loadTestAuthority, findTestRoots } from './test-authority.ts'
export {
  type Assertion,
  createAppAssertion,
  type Attestation as AppAttestation,
  attestationObject,
  attestKey,
  type SimulatedApp as SimulatedAppleApp,
} from './app-attest/attested-key.ts'
export {
  type AppExtensions,
  assertedData,
  attestedData,
  keyIdOf,
} from './app-attest/authenticator-data.ts'
export {
  type AppAttestAuthority,
  certifyKey,
  createAppAttestAuthority,
} from './app-attest/authority.ts'
export {
  type CertificateOptions,
  type Issuer,
  createCertificate,
} from './app-attest/certificate.ts'
export {
  type AssertionTamper,
  type Attestation,
  type Authenticator,
  type AuthenticatorOptions,
  createAuthenticator,
  noAttestation,
  selfAttestation,
  WEBAUTHN_FLAGS,
  type WebauthnAssertionJson,
  type WebauthnRegistrationJson,
} from './webauthn/authenticator.ts'
export {
  type AuthenticatorAuthority,
  createAuthenticatorAuthority,
} from './webauthn/attestation-authority.ts'
export { type CborValue, encodeCbor } from './test-pki/cbor.ts'
export {
  createPassportAuthority,
  type PassportAuthority,
  type PassportAuthorityOptions,
} from './passport/authority.ts'
export { createPassportChip, type PassportChip, type PassportChipOptions } from './passport/chip.ts'
export {
  createPassport,
  type PassportOptions,
  type SimulatedPassport,
} from './passport/document.ts'
export { createMasterList } from './passport/master-list.ts'
export { createMrz, type MrzOptions } from './passport/mrz.ts'
export { createPassportSigner, type PassportSignatureOptions } from './passport/signer.ts'
