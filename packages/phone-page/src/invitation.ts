import { type Invitation, sanitizeDisplayText } from '@bonded/contract'
import type { ProblemKind } from './failures.ts'

/** Who asks, on the screen before a key exists. */
export interface ShownInvitation {
  readonly tenant_name: string
  /** The address of the logo, on the service's own origin. */
  readonly logo: string | null
  readonly requesting_origin: string | null
}

/** An invitation for a screen: no text hides characters, and the logo is the service's own file. */
export function shownInvitation(
  { tenant_name, tenant_logo_url, requesting_origin }: Invitation,
  origin: string,
): ShownInvitation {
  // A path of the service, which is not another host's address.
  const isPath = /^\/(?!\/)/.test(tenant_logo_url ?? '')
  return {
    tenant_name: sanitizeDisplayText(tenant_name),
    logo: isPath ? `${origin}${tenant_logo_url}` : null,
    requesting_origin: requesting_origin === null ? null : sanitizeDisplayText(requesting_origin),
  }
}

/**
 * Whether a phone without a record offers to find its passkey. A session that names its user
 * rejects a new key, so it needs the passkey of that user. One that needs an attestation rejects
 * the passkeys that can be found.
 */
export function recoveryFor({
  registration,
}: Pick<Invitation, 'registration'>): 'only' | 'offered' | 'none' {
  if (registration.names_user) return 'only'
  return registration.attestation === 'none' ? 'offered' : 'none'
}

/**
 * Why a phone without a key need not create one for this session; null where it should. A passkey
 * that cannot approve anything would only cost its user a prompt.
 *
 * @param canAttest whether this phone's browser can attest a key
 */
export function obstacleIn(
  { state, registration }: Pick<Invitation, 'state' | 'registration'>,
  canAttest: boolean,
): ProblemKind | null {
  switch (state) {
    case 'pending': {
      const { formats, attestation } = registration
      if (!formats.includes('webauthn')) return 'app_only'
      // The passkey that the named user has may be accepted.
      if (registration.names_user) return null
      return attestation === 'required' && !canAttest ? 'cannot_attest' : null
    }
    case 'step_up_required':
    case 'bonded':
      return 'claimed_by_other_phone'
    default:
      return 'session_over'
  }
}
