import { hash, randomBytes } from 'node:crypto'
import { browserPayload } from '@bonded/contract'
import type { PublicCreatedSession } from '@bonded/integrator'
import type { Frame, Page } from 'playwright-core'
import type { RelayService, RelayTenant } from './relay-service.ts'

/** An assertion, as `toJSON()` gives it. */
interface AssertionJson {
  readonly id: string
  readonly rawId?: string
  readonly type: string
  readonly response: {
    readonly clientDataJSON: string
    readonly authenticatorData: string
    readonly signature: string
  }
}

/** What a browser returns for a prompt: an assertion, or the name of its error. */
export type Prompted = { readonly assertion: AssertionJson } | { readonly error: string }

/** An assertion from its members, for a program that makes one up. */
export function assertionOf(
  id: string,
  {
    clientDataJSON = '',
    authenticatorData = '',
    signature = '',
  }: Readonly<Record<keyof AssertionJson['response'], string | undefined>>,
): Prompted {
  const response = { clientDataJSON, authenticatorData, signature }
  return { assertion: { id, type: 'public-key', response } }
}

/** A secret of a browser, and the commitment to it. */
export function drawSecret(): { readonly secret: string; readonly commitment: string } {
  const secret = randomBytes(32).toString('base64url')
  return { secret, commitment: hash('sha256', secret, 'base64url') }
}

/** `B` for a session of a tenant. */
export function proofPayload(
  { id, workflow, action }: Pick<PublicCreatedSession, 'id' | 'workflow' | 'action'>,
  { tenant, commitment }: { readonly tenant: RelayTenant; readonly commitment: string },
): string {
  return browserPayload({
    session_id: id,
    tenant_id: tenant.id,
    workflow: workflow ?? null,
    action: action ?? null,
    origin: tenant.origin,
    commitment,
  })
}

/** Has the page's browser sign a text for a relying party, as any script of the page can. */
export async function promptPage(
  page: Page | Frame,
  wanted: {
    readonly rpId: string
    readonly credentialIds: readonly string[]
    /** The text whose hash is the challenge, or the challenge itself. */
    readonly payload?: string
    readonly challenge?: string
    readonly userVerification?: 'required' | 'discouraged'
  },
): Promise<Prompted> {
  const { rpId, credentialIds, payload = '', userVerification = 'required' } = wanted
  const challenge = wanted.challenge ?? hash('sha256', payload, 'base64url')
  const options = JSON.stringify({
    challenge,
    rpId,
    userVerification,
    allowCredentials: credentialIds.map((id) => ({ type: 'public-key', id })),
    timeout: 30_000,
  })
  return (await page.evaluate(`navigator.credentials
    .get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(${options}) })
    .then((credential) => ({ assertion: credential.toJSON() }), ({ name }) => ({ error: name }))`)) as Prompted
}

/**
 * Sends a proof to the service, as a program that chooses its headers. Returns `passed`, the step
 * that the timeline names, or the reason of the rejection.
 */
export async function sendProof(
  service: RelayService,
  session: Pick<PublicCreatedSession, 'id' | 'watch_token'>,
  proof: {
    readonly commitment: string
    readonly prompted: Prompted
    readonly tenant?: RelayTenant
    /** Default: the tenant's. */
    readonly origin?: string
    /** The page around the service's frame. */
    readonly parentOrigin?: string
  },
): Promise<string> {
  const { commitment, prompted, tenant = service.bank, origin = tenant.origin } = proof
  if ('error' in prompted) return prompted.error
  const { status, reason } = await service.call({
    method: 'POST',
    path: `/sessions/${session.id}/browser`,
    token: tenant.publishableKey,
    headers: { origin, 'x-bond-watch': session.watch_token },
    body: {
      commitment,
      assertion: prompted.assertion,
      ...(proof.parentOrigin === undefined ? {} : { parent_origin: proof.parentOrigin }),
    },
  })
  if (status === 200) return 'passed'
  return reason === 'browser_proof_invalid' ? service.lastStep(session) : String(reason)
}
