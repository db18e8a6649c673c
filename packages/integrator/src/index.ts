export { adviceFor, type RejectReason, VERDICT_REASONS } from './user-messages.ts'
export { bindingDigest } from './binding-digest.ts'
export { type CleanedText, displayText, type DisplayTextChange } from './display-text.ts'
export { type GateClock, type RandomBytes, systemClock, systemRandom } from './clock.ts'
export { GATE_ERROR_CODES, GATE_REMEDIES, GateError, type GateErrorCode } from './errors.ts'
export { forwardedAddress } from './form/user-address.ts'
export { createGate, type Gate, type GateOptions } from './gate.ts'
export { type MemoryTransaction, memoryPendingStore } from './pending/memory.ts'
export {
  type PendingRow,
  type PendingStore,
  type PendingUse,
  ROW_KEPT_AFTER_EXPIRY_MS,
} from './pending/pending-store.ts'
export { type ResponseLike, Secret } from '@bonded/contract'
export type { FetchLike } from './service/call.ts'
export type { Completion } from './verbs/complete.ts'
export { type CreateBond, type PublicCreatedSession, publicSession } from './verbs/create.ts'
export type { GatePolicy } from './verbs/dependencies.ts'
export type { ProtectedSubmit, ProtectOutcome } from './verbs/protect.ts'
export { VERDICT_TTL_MS } from './verbs/issued-verdicts.ts'
export type { Used } from './verbs/use.ts'
export type {
  AcceptVerdict,
  RejectVerdict,
  ReviewVerdict,
  Submit,
  Verdict,
} from './verbs/verdict.ts'
export type { ReviewReason } from '@bonded/contract'
export { signWebhook, type UnsignedWebhook } from './webhook/sign-webhook.ts'
export {
  verifyWebhook,
  type WebhookDelivery,
  type WebhookHeaders,
  type WebhookRejectReason,
  type WebhookVerdict,
} from './webhook/verify-webhook.ts'
export type { ReceiptClaims } from '@bonded/contract'
export {
  type ReceiptKeySet,
  type ReceiptRejectReason,
  type ReceiptToVerify,
  type ReceiptVerdict,
  verifyReceipt,
} from './receipt/verify-receipt.ts'
export {
  type QuorumReceipt,
  type QuorumReceiptsRejectReason,
  type QuorumReceiptsVerdict,
  type QuorumToVerify,
  verifyQuorum,
} from './receipt/verify-quorum.ts'
export type { ClosedLog } from './receipt/closed-log.ts'
export type { Checkpoint } from './receipt/checkpoint.ts'
export { type LogRejectReason, type LogVerdict, verifyConsistency } from './receipt/verify-log.ts'
