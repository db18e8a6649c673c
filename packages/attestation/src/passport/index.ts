export {
  type ActiveAuthenticationInput,
  verifyActiveAuthentication,
} from './active-authentication.ts'
export { CountryTrust } from './country-trust.ts'
export type { Mrz } from './mrz.ts'
export {
  type AuthenticDocument,
  type PassiveAuthenticationInput,
  verifyPassiveAuthentication,
} from './passive-authentication.ts'
export { type MasterList, type MasterListStep, readMasterList } from './read-master-list.ts'
export { mayIssue, readStateCertificate } from './state-certificate.ts'
export type { ActiveAuthenticationStep, PassiveAuthenticationStep } from './steps.ts'
export { type PassportInput, type VerifiedPassport, verifyPassport } from './verify-passport.ts'
