export type {
  ApprovalRef,
  ApprovalRequest,
  OpenedRequest,
  UnknownOutcome,
} from './approval-row.ts'
export type { ApprovalProgress, ApprovalStatus } from './approval-status.ts'
export type { ApprovalState, ApprovalStore, StoredApproval } from './approval-store.ts'
export {
  Approvals,
  type ApprovalsOptions,
  createApprovals,
} from './approvals.ts'
export type { DescribedAction, Requester } from './approved-context.ts'
export { APPROVAL_REMEDIES, ApprovalError, type ApprovalErrorCode, NotStarted } from './errors.ts'
export type { OneUser, Person, Quorum } from './quorum.ts'
export { memoryApprovalStore } from './memory-store.ts'
export { redisApprovalStore } from './redis-store.ts'
export type { EarlierRequest } from './repeated-request.ts'
export { requestText } from './request-text.ts'
export {
  APPROVAL_TABLE,
  type ApprovalConnection,
  postgresApprovalStore,
  sqliteApprovalStore,
} from './sql-store.ts'
