export type {
  AttestationApplicationId,
  AuthorizationList,
  RootOfTrust,
} from './authorization-list.ts'
export { GOOGLE_ROOT_CERTIFICATES, GOOGLE_ROOTS } from './google-roots.ts'
export type { AndroidKeyAlgorithm } from './key-algorithms.ts'
export {
  KEY_DESCRIPTION,
  type KeyDescription,
  readKeyDescription,
  SECURITY_LEVEL,
} from './key-description.ts'
export type { AndroidApp, AndroidPolicy } from './policy.ts'
export {
  GOOGLE_STATUS_URL,
  isRevoked,
  readStatusList,
  revokedSerials,
  type StatusList,
} from './status-list.ts'
export {
  type AndroidKeyAttestationInput,
  type AndroidKeyAttestationStep,
  type AttestedAndroidKey,
  verifyAndroidKeyAttestation,
} from './verify-key-attestation.ts'
