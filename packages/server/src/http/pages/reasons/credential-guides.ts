import { guides } from './guide.ts'

/** The guides of what a credential, a page or a tenant may not do. */
export const CREDENTIAL_REASON_GUIDES = {
  ...guides('corrected', {
    credential_missing: [
      'The header is missing, or a proxy removed it.',
      'Send `Authorization: Bearer <credential>`. An operator issues credentials.',
    ],
    credential_invalid: [
      'The credential is misspelled, revoked or from another environment.',
      'Check the stored value. Ask the operator for a new credential if it was revoked.',
    ],
    device_token_expired: [
      'The phone did not renew its token in time. A token lasts for 180 days unless the operator has configured another time.',
      'Request a new token at `POST /devices/{device_id}/token` with the expired one, signed by the key of the device.',
    ],
    credential_not_accepted: [
      'A publishable key was used in place of a server credential, or a server credential in place of a device token.',
      'Use the kind of credential that the OpenAPI document lists for this endpoint.',
    ],
    origin_not_allowed: [
      'The page is served from an origin that the tenant of this key does not have, because the key is of another tenant or environment or the origin is new, or a server sends an `Origin` header.',
      'Compare the key with `bonded tenant show`. If it is yours, ask the operator to add the exact origin (`bonded tenant update --add-origin`).',
    ],
    key_of_another_tenant: [
      'The page uses the publishable key of another tenant or environment, or a revoked one.',
      'Use the publishable key that `bonded tenant show` lists for your tenant.',
    ],
    workflow_not_enabled: [
      'The operator restricted the key to other workflows.',
      'Use another key, or ask the operator for one with this workflow.',
    ],
    action_not_enabled: [
      'The operator restricted the key to other actions.',
      'Use another key, or ask the operator for one with this action.',
    ],
  }),
  ...guides('no', {
    tenant_suspended: [
      'The operator suspended the organization with `bonded tenant suspend`. Its sessions that were not bonded have ended. What was bonded still completes.',
      'Ask the operator why. After `bonded tenant resume`, create a new session: those that have ended stay so.',
    ],
  }),
}
