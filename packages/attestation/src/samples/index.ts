export { androidKeySample } from './android-key.ts'
export { appAttestSample } from './app-attest.ts'
export { passportSample } from './passport.ts'
export { webAuthnSample } from './web-authn.ts'
