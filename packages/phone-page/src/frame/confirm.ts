import {
  ASSERTION_MEMBERS,
  type BrowserFrame,
  browserPayload,
  type BrowserProof,
  credentialName,
  type CredentialLike,
  credentialMembers,
  encodeBase64url,
  promptFailureOf,
} from '@bonded/contract'
import { AFTER_FRAME_PROMPT } from '../failures.ts'
import type { Start } from './parent-message.ts'
import type { FrameService, ServiceResult } from './service.ts'

type Assertion = BrowserProof['assertion']

/** What the frame shows. */
export type FrameScreen =
  | { readonly name: 'confirm'; readonly request: BrowserFrame; readonly note: Note | null }
  | { readonly name: 'confirming'; readonly request: BrowserFrame }
  | { readonly name: 'opening' | 'offline' | 'done' | 'ended' | 'unsupported' | 'misplaced' }

/** Why the user is asked again. */
export type Note = 'retry' | 'offline'

/** How the page learns the end: nothing but whether the browser has proved itself. */
export type FrameEnd = 'done' | 'failed'

export interface FrameDependencies {
  /** The tenant of the document's own path. */
  readonly tenantId: string
  readonly service: FrameService
  /** Absent in a browser without WebAuthn, or where the page does not permit it to its frame. */
  readonly credentials: Pick<CredentialsContainer, 'get'> | undefined
  readonly sha256: (text: string) => Promise<Uint8Array<ArrayBuffer>>
  readonly show: (screen: FrameScreen) => void
  readonly end: (end: FrameEnd) => void
}

/** The frame, once a page has started it. */
export interface StartedFrame {
  /** Reads the session, at first and after a lost connection. */
  open(): Promise<void>
  /** Asks for the passkey. Call it from the user's click. */
  confirm(): Promise<void>
}

/** Starts the frame for one session of its own tenant. */
export function startFrame(start: Start, dependencies: FrameDependencies): StartedFrame {
  const { tenantId, service, credentials, show, end } = dependencies
  let request: BrowserFrame | undefined
  let assertion: Assertion | undefined
  let isBusy = false

  const fail = (name: 'ended' | 'unsupported') => {
    request = undefined
    show({ name })
    end('failed')
  }
  const again = (note: Note) => {
    if (request !== undefined) show({ name: 'confirm', request, note })
  }

  const settle = (result: ServiceResult<unknown>) => {
    switch (result.kind) {
      case 'accepted':
        show({ name: 'done' })
        return end('done')
      case 'offline':
        // The same proof is sent again: the service may have accepted it.
        return again('offline')
      case 'rejected':
        assertion = undefined
        return result.reason === 'browser_proof_invalid' ? again('retry') : fail('ended')
    }
  }

  const confirmOnce = async (shown: BrowserFrame): Promise<void> => {
    show({ name: 'confirming', request: shown })
    try {
      assertion ??= await requestAssertion(start, shown, dependencies)
    } catch (failure) {
      const after = AFTER_FRAME_PROMPT[promptFailureOf((failure as Error).name)]
      return after === 'retry' ? again(after) : fail(after)
    }
    if (
      assertion === undefined ||
      !(await isOfPhone(start, shown, { assertion, ...dependencies }))
    ) {
      assertion = undefined
      return again('retry')
    }
    settle(await service.prove(start, assertion))
  }

  return {
    async open() {
      if (credentials === undefined) return fail('unsupported')
      show({ name: 'opening' })
      const opened = await service.open(start)
      if (opened.kind === 'offline') return show({ name: 'offline' })
      // A page of another tenant has given its session to this tenant's frame.
      if (opened.kind === 'rejected' || opened.value.tenant_id !== tenantId) return fail('ended')
      request = opened.value
      show({ name: 'confirm', request, note: null })
    },
    async confirm() {
      if (request === undefined || isBusy) return
      isBusy = true
      try {
        await confirmOnce(request)
      } finally {
        isBusy = false
      }
    },
  }
}

/**
 * Whether the assertion is of a credential of the phone that approved. Another one never leaves the
 * frame: it contains the commitment, with which the phone that approved could bond this browser.
 */
async function isOfPhone(
  { sessionId }: Start,
  { credential_hashes }: BrowserFrame,
  {
    assertion,
    sha256,
  }: { readonly assertion: Assertion; readonly sha256: FrameDependencies['sha256'] },
): Promise<boolean> {
  const name = encodeBase64url(await sha256(credentialName(sessionId, assertion.id)))
  return credential_hashes.includes(name)
}

/** Asks the browser for an assertion over this session. Undefined where it returns none. */
async function requestAssertion(
  { sessionId, parentOrigin, commitment }: Start,
  shown: BrowserFrame,
  { tenantId, credentials, sha256 }: FrameDependencies,
): Promise<Assertion | undefined> {
  const payload = browserPayload({
    session_id: sessionId,
    tenant_id: tenantId,
    workflow: shown.workflow,
    action: shown.action,
    origin: parentOrigin,
    commitment,
  })
  // Without `allowCredentials`, the authenticator offers its discoverable keys. The service knows
  // which of them belong to the phone. TypeScript's types do not have `hints` yet.
  const publicKey: PublicKeyCredentialRequestOptions & { hints: readonly string[] } = {
    challenge: await sha256(payload),
    rpId: shown.rp_id,
    userVerification: 'required',
    hints: ['hybrid', 'client-device'],
    timeout: shown.timeout_ms,
  }
  const credential = await credentials?.get({ publicKey })
  if (credential === null || credential === undefined) return undefined
  return credentialMembers(
    credential as unknown as CredentialLike<(typeof ASSERTION_MEMBERS)[number]>,
    ASSERTION_MEMBERS,
  )
}
