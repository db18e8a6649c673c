import type { CreatedSession } from '@bonded/contract'

/** The members of part 2.1 of the API description that a backend may give its page. */
const DESCRIBED = [
  'id',
  'state',
  'nonce',
  'qr_payload',
  'qr_svg_url',
  'api_base_url',
  'universal_link',
  'websocket_url',
  'challenge_expires_at',
  'expires_at',
  'workflow',
  'action',
  'tenant_id',
  'verification',
] as const satisfies readonly (keyof CreatedSession)[]

/** A session as a backend that follows the description gives it to its page. */
export function describedMembers(session: Omit<CreatedSession, 'completion_secret'>): object {
  return Object.fromEntries(DESCRIBED.map((name) => [name, session[name]]))
}
