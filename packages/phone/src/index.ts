export { authenticatorData } from './assertion.ts'
export type { PhoneDevice } from './device.ts'
export { isRejection, PHONE_ERROR_CODES, PhoneError, type PhoneErrorCode } from './errors.ts'
export type { InboxPush } from '@bonded/contract'
export { createInbox, type OpenedInbox, type PhoneInbox, type WaitingRequest } from './inbox.ts'
export type { AddedKey, ListedKey } from './keys/subject-keys.ts'
export { browserKeyOptions, type BrowserKeyNames } from './keys/browser-key.ts'
export { isSafeOrigin, originOf } from './origin.ts'
export { createPhone, type Phone, type PhoneOptions } from './phone.ts'
export type {
  AbortSignalLike,
  Cancel,
  CreateBrowserKey,
  FetchLike,
  PhoneClock,
  PhoneStore,
  RequestLike,
  Sha256,
  PlatformProof,
  PlatformSigner,
  Signer,
  SigningRequest,
  SoftwareSigner,
} from './ports.ts'
export {
  type ResponseLike,
  type Invitation,
  Secret,
  type WebSocketConstructor,
  type WebSocketLike,
} from '@bonded/contract'
export {
  motionFeatures,
  type MotionRecording,
  type MotionSample,
} from './sensors/motion-features.ts'
export {
  createWebAuthnSigner,
  type CredentialsLike,
  type FoundKey,
  type KeyRequirement,
  type WebAuthnAssertion,
  type WebAuthnKey,
  type WebAuthnRegistration,
  type WebAuthnSigner,
  type WebAuthnSignerOptions,
} from './signers/webauthn.ts'
export type { ServerTime } from './server-time.ts'
export type { Approving } from './session/approve.ts'
export type { ClaimedSession } from './session/claimed-session.ts'
export type { DeclineReason, Declining } from './session/decline.ts'
export { createReading, type Reading, type Unread } from './session/reading.ts'
export {
  describeRequest,
  purposeOf,
  requestOf,
  type ShownRequest,
  type ShownRequester,
} from './session/request.ts'
export { textRuns } from './session/text-runs.ts'
export type {
  GatherSignals,
  PhoneSignals,
  ReadPassport,
  RequiredSignals,
} from './session/signals.ts'
export { ANSWERABLE_KINDS, awaitsBrowser } from './session/step-up.ts'
