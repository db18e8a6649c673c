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
} from './mint/certificate.ts'
export * as der from './mint/der.ts'
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
export { describeRequest } from '../session/request.ts'
export { PhoneError } from '../errors.ts'
export { nodeClock, nodeFetch, nodeWebSocket } from './node-platform.ts'
export { type Outcome, OUTCOMES, type Step } from './outcomes.ts'
export { type HandoffInput, readHandoff } from './read-handoff.ts'
export { carriedPhone, type Random } from './sensors.ts'
export {
  createSimulatedPhone,
  PHONE_FORMATS,
  type PhoneFormat,
  type RunOptions,
  type RunResult,
  type SimulatedPhone,
  type SimulatedPhoneOptions,
} from './simulated-phone.ts'
export { type TestAuthority, testAuthorityIn, testRootsIn } from './test-authority.ts'
export {
  type Assertion,
  assertWith,
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
  makeAppAttestAuthority,
} from './app-attest/authority.ts'
export { type CertificateWish, type Issuer, mintCertificate } from './app-attest/certificate.ts'
export {
  type Attestation,
  type Authenticator,
  type AuthenticatorOptions,
  createAuthenticator,
  itself,
  nobody,
  WEBAUTHN_FLAGS,
  type WebauthnRegistrationJson,
} from './webauthn/authenticator.ts'
export { type AuthenticatorMaker, createAuthenticatorMaker } from './webauthn/maker.ts'
export { type CborValue, encodeCbor } from './mint/cbor.ts'
export {
  makePassportAuthority,
  type PassportAuthority,
  type PassportAuthorityWish,
} from './passport/authority.ts'
export { makePassportChip, type PassportChip, type PassportChipWish } from './passport/chip.ts'
export { mintPassport, type PassportWish, type SimulatedPassport } from './passport/document.ts'
export { mintMasterList } from './passport/master-list.ts'
export { mintMrz, type MrzWish } from './passport/mrz.ts'
export { makePassportSigner, type PassportSignatureWish } from './passport/signer.ts'
