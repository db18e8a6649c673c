import { hash, randomBytes } from 'node:crypto'
import { browserPayload } from '@bonded/contract'
import {
  type AssertionTamper,
  type Authenticator,
  createAuthenticator,
} from '../../packages/simulator/src/webauthn/authenticator.ts'
import type { AttestedKey } from './phone.ts'

/** A proof of a browser that has the form of one, and belongs to no session. */
export const BROWSER_PROOF = {
  commitment: 'A'.repeat(43),
  assertion: {
    id: 'AAAA',
    type: 'public-key',
    response: {
      clientDataJSON: 'AAAA',
      authenticatorData: 'A'.repeat(52),
      signature: 'A'.repeat(16),
    },
  },
}

/** A passkey that approves on the phone, and answers in a browser. */
export function newPasskey(serviceOrigin: string): {
  readonly authenticator: Authenticator
  readonly key: AttestedKey
} {
  const authenticator = createAuthenticator({ origin: serviceOrigin })
  return {
    authenticator,
    key: {
      format: 'webauthn',
      register: (challenge) => ({ registration: authenticator.register(challenge) }),
      assert: (payload) => authenticator.assert(payload),
    },
  }
}

/** What a page draws for each session. */
export const newBrowserSecret = (): string => randomBytes(32).toString('base64url')

/** The body of `POST /sessions/{id}/browser`, as a page sends it after the user's click. */
export function browserProof(
  authenticator: Authenticator,
  of: {
    readonly sessionId: string
    readonly tenantId: string
    readonly workflow: string
    readonly action: string
    readonly origin: string
    readonly secret: string
  },
  tamper?: AssertionTamper,
) {
  const { sessionId: session_id, tenantId: tenant_id, workflow, action, origin, secret } = of
  const commitment = hash('sha256', secret, 'base64url')
  const payload = browserPayload({ session_id, tenant_id, workflow, action, origin, commitment })
  return { commitment, assertion: authenticator.confirm(payload, origin, tamper) }
}
