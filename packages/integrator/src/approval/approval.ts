export type { ApprovalState, ApprovalStore, StoredApproval } from './approval-store.ts'
export {
  type ApprovalOutcome,
  type ApprovalRef,
  type ApprovalRequest,
  Approvals,
  type ApprovalsOptions,
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
