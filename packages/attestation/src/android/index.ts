export type {
  AttestationApplicationId,
  AuthorizationList,
  RootOfTrust,
} from './authorization-list.ts'
export {
  KEY_DESCRIPTION,
  type KeyDescription,
  readKeyDescription,
  SECURITY_LEVEL,
} from './key-description.ts'
export { type AndroidApp, type AndroidPolicy, GOOGLE_ROOTS } from './policy.ts'
export { GOOGLE_STATUS_URL, isRevoked, readStatusList, type StatusList } from './status-list.ts'
export {
  type AndroidKeyAttestationInput,
  type AndroidKeyAttestationStep,
  type AttestedAndroidKey,
  verifyAndroidKeyAttestation,
} from './verify-key-attestation.ts'
