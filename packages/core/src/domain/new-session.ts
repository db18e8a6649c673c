import type { Session } from './session.ts'

/** What is known of a session at its creation. */
export type SessionStart = Pick<
  Session,
  | 'id'
  | 'tenantId'
  | 'rootKeyId'
  | 'workflow'
  | 'action'
  | 'policy'
  | 'createdAt'
  | 'context'
  | 'wantedSubjectRef'
  | 'sealedPhoneNumber'
  | 'endUserNetwork'
  | 'notifies'
> &
  Partial<Pick<Session, 'quorumId'>>

/** A pending session that no page and no phone has used. Its lifetimes are those of the policy. */
export function newSession(start: SessionStart): Session {
  const { policy, createdAt } = start
  return {
    id: start.id,
    tenantId: start.tenantId,
    rootKeyId: start.rootKeyId,
    state: 'pending',
    seq: 1,
    hint: 'waiting_for_scan',
    workflow: start.workflow,
    action: start.action,
    policy,
    createdAt,
    expiresAt: createdAt + policy.sessionTtlMs,
    sessionTtlMs: policy.sessionTtlMs,
    challengeTtlMs: policy.challengeTtlMs,
    bondedTtlMs: policy.bondedTtlMs,
    pendingUntil: null,
    bondedAt: null,
    completedAt: null,
    endedAt: null,
    endedReason: null,
    declineNote: null,
    outcome: null,
    context: start.context,
    wantedSubjectRef: start.wantedSubjectRef,
    inboxSubjectId: null,
    quorumId: start.quorumId ?? null,
    subjectRef: null,
    sealedPhoneNumber: start.sealedPhoneNumber,
    endUserNetwork: start.endUserNetwork,
    requestingOrigin: null,
    deviceId: null,
    claimedNonce: null,
    claimedAt: null,
    validAssertions: 0,
    bondDigest: null,
    bondProof: null,
    receiptDueAt: null,
    verification: null,
    stepUp: null,
    browserProof: null,
    notifies: start.notifies,
  }
}
