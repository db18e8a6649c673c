import type { EndpointName, ENDPOINTS, RequestId, WebhookEndpointId } from '@bonded/contract'
import type { AuditClass } from '@bonded/core/domain/audit'
import { auditedService } from '@bonded/core/operations/audit/audit'
import type { Caller, Service } from '@bonded/core/operations/service'

/** The endpoints that can change something. */
type ChangingEndpoint = {
  [Name in EndpointName]: (typeof ENDPOINTS)[Name]['method'] extends 'GET' ? never : Name
}[EndpointName]

/**
 * Whether a call changes the configuration of a tenant, and therefore leaves an entry in the audit
 * log. A new endpoint has its line here. The others belong to one session or one phone, whose
 * timelines record them, or send again what was sent. What pauses an inbox, or ends its pause, adds
 * its own entry.
 */
export const AUDITED_ENDPOINTS: Readonly<
  Record<ChangingEndpoint, Exclude<AuditClass, 'reads_person'>>
> = {
  createSession: 'neither',
  createQuorum: 'neither',
  deleteSession: 'neither',
  cancelSession: 'neither',
  proveBrowser: 'neither',
  openBrowserFrame: 'neither',
  completeSession: 'neither',
  reportContainment: 'neither',
  claimSession: 'neither',
  declineSession: 'neither',
  fetchEvidence: 'neither',
  attest: 'neither',
  challengeDevice: 'neither',
  registerDevice: 'neither',
  recoverDevice: 'neither',
  rotateDeviceToken: 'neither',
  removeDevice: 'neither',
  openInbox: 'neither',
  resumeInbox: 'neither',
  setPush: 'neither',
  blockSubject: 'changes',
  unblockSubject: 'changes',
  createWebhookEndpoint: 'changes',
  updateWebhookEndpoint: 'changes',
  deleteWebhookEndpoint: 'changes',
  rotateWebhookSecret: 'changes',
  testWebhookEndpoint: 'neither',
  recoverWebhookEndpoint: 'neither',
  retryWebhookEvent: 'neither',
  openWebhookPortal: 'neither',
}

/** The service for a call, which records what the call changes if the endpoint is one of those. */
export function auditedCall(
  service: Service,
  call: {
    readonly endpoint: string | undefined
    readonly caller: Caller
    readonly requestId: RequestId
    readonly params: {
      readonly endpoint_id?: WebhookEndpointId | undefined
      readonly subject_ref?: string | undefined
    }
    readonly address: () => string
  },
): Service {
  const { endpoint, caller, requestId, params, address } = call
  const auditClass = AUDITED_ENDPOINTS[endpoint as ChangingEndpoint]
  if (auditClass !== 'changes' || caller.kind !== 'backend') return service
  const { keyId, tenant } = caller.credential
  return auditedService(service, {
    action: endpoint as ChangingEndpoint,
    actor: { kind: 'tenant', name: keyId, address: address() },
    requestId,
    target: {
      tenantId: tenant.id,
      endpointId: params.endpoint_id,
      subjectRef: params.subject_ref,
    },
  })
}
