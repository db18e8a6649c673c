export type { ApprovalState, ApprovalStore, StoredApproval } from './approval-store.ts'
export {
  type ApprovalRef,
  type ApprovalRequest,
  Approvals,
  type ApprovalsOptions,
  type ApprovalStatus,
  createApprovals,
  type UnknownOutcome,
} from './approvals.ts'
export type { DescribedAction, Requester } from './approved-context.ts'
export { APPROVAL_REMEDIES, ApprovalError, type ApprovalErrorCode, NotStarted } from './errors.ts'
export { memoryApprovalStore } from './memory-store.ts'
export { redisApprovalStore } from './redis-store.ts'
export { requestText } from './request-text.ts'
export {
  APPROVAL_TABLE,
  type ApprovalConnection,
  postgresApprovalStore,
  sqliteApprovalStore,
} from './sql-store.ts'
