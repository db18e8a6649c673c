import { isObject, isWebAddress } from './session/read.ts'

/** What a page's code can branch on when it called `Pulse` wrongly. */
export type PulseErrorCode =
  | 'not_initialised'
  | 'publishable_key_invalid'
  | 'server_credential_exposed'
  | 'workflow_invalid'
  | 'container_id_invalid'
  | 'session_endpoint_invalid'
  | 'action_invalid'
  | 'session_invalid'
  | 'session_mismatch'
  | 'completion_secret_exposed'
  | 'context_invalid'

/**
 * A wrong call, told at once. Branch on `code`; the message names the fix.
 *
 * @example new PulseError('action_invalid', 'Pass `action`.').code // 'action_invalid'
 */
export class PulseError extends Error {
  override readonly name = 'PulseError'
  readonly code: PulseErrorCode

  constructor(code: PulseErrorCode, message: string) {
    super(message)
    this.code = code
  }
}

/** What `Pulse.init` takes. */
export interface Setup {
  /** The browser key, `pk_beta_…`. Not a secret. */
  readonly publishableKey: string
  readonly workflow: string
  /** The container's id. Without it the first `[data-pulse-widget]` is taken. */
  readonly containerId?: string | undefined
  /** The address on your own backend that creates a session and answers with its public form. */
  readonly sessionEndpoint?: string | undefined
}

/** What `Pulse.requireBond` takes. */
export interface BondRequest {
  readonly action: string
  /** A public session your page has already. Without it the widget asks your `sessionEndpoint`. */
  readonly session?: object | undefined
  /** A hint for your backend, which builds the context that the phone shows from its own record. */
  readonly context?: unknown
}

/** The checked setup, or a PulseError. */
export function checkSetup(setup: Setup): Setup {
  const given: Record<string, unknown> = isObject(setup) ? setup : {}
  const { publishableKey, workflow, containerId, sessionEndpoint } = given
  if (typeof publishableKey === 'string' && publishableKey.startsWith('sk_'))
    throw new PulseError(
      'server_credential_exposed',
      'This is a server credential. Revoke it now, and pass the publishable key (pk_beta_…) instead.',
    )
  if (typeof publishableKey !== 'string' || !publishableKey.startsWith('pk_beta_'))
    throw new PulseError(
      'publishable_key_invalid',
      'Pass `publishableKey`: the browser key of your tenant, which begins with pk_beta_.',
    )
  if (!isName(workflow))
    throw new PulseError(
      'workflow_invalid',
      'Pass `workflow`: the name of a workflow enabled for this key, such as credit_application.',
    )
  if (containerId !== undefined && !isName(containerId))
    throw new PulseError(
      'container_id_invalid',
      'Pass `containerId`: the id of the reserved container, or leave it out and mark the container with data-pulse-widget.',
    )
  if (sessionEndpoint !== undefined && !isAddressHere(sessionEndpoint))
    throw new PulseError(
      'session_endpoint_invalid',
      'Pass `sessionEndpoint`: the address on your own backend that creates a session, such as /bond-session.',
    )
  return { publishableKey, workflow, containerId, sessionEndpoint }
}

/** The checked request, or a PulseError. */
export function checkRequest(setup: Setup | undefined, request: BondRequest): BondRequest {
  if (!setup)
    throw new PulseError(
      'not_initialised',
      'Call Pulse.init({ publishableKey, workflow, sessionEndpoint }) before Pulse.requireBond.',
    )
  const given: Record<string, unknown> = isObject(request) ? request : {}
  const { action, session, context } = given
  if (!isName(action))
    throw new PulseError(
      'action_invalid',
      'Pass `action`: the one protected action this bond is for, such as submit_application.',
    )
  if (session !== undefined) checkSession(session, { workflow: setup.workflow, action })
  else if (setup.sessionEndpoint === undefined)
    throw new PulseError(
      'session_endpoint_invalid',
      'Pass `session` to requireBond, or `sessionEndpoint` to init.',
    )
  return { action, session: session as object | undefined, context: plainJson(context) }
}

function checkSession(session: unknown, asked: { workflow: string; action: string }): void {
  if (
    !isObject(session) ||
    typeof session['id'] !== 'string' ||
    typeof session['watch_token'] !== 'string'
  )
    throw new PulseError(
      'session_invalid',
      'Pass `session`: the create answer of your backend without completion_secret (publicSession() of @bonded/integrator).',
    )
  if (session['completion_secret'])
    throw new PulseError(
      'completion_secret_exposed',
      'Your backend sent completion_secret to the browser. Send publicSession(session) instead.',
    )
  if (!isFor(session, asked))
    throw new PulseError(
      'session_mismatch',
      `This session is for ${String(session['workflow'])}/${String(session['action'])}, not ${asked.workflow}/${asked.action}.`,
    )
}

/** Whether a session is for the workflow and action that the page asked for. */
export function isFor(
  session: Record<string, unknown>,
  asked: { workflow: string; action: string },
): boolean {
  return (
    (session['workflow'] ?? asked.workflow) === asked.workflow &&
    (session['action'] ?? asked.action) === asked.action
  )
}

/** What JSON makes of a value: what cannot be sent is told now, not as a failed request later. */
function plainJson(context: unknown): unknown {
  try {
    const text = JSON.stringify(context)
    return text === undefined ? undefined : JSON.parse(text)
  } catch {
    throw new PulseError(
      'context_invalid',
      'Pass a `context` that JSON can hold: no cycles, no BigInt.',
    )
  }
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

function isAddressHere(value: unknown): value is string {
  if (!isName(value)) return false
  try {
    return isWebAddress(new URL(value, document.baseURI).href)
  } catch {
    return false
  }
}
