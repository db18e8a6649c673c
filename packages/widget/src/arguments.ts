import { type Members, NO_MEMBERS, ownMembers } from '@bonded/contract'
import { PulseError } from './pulse-error.ts'
import { isWebAddress, readAddress, sessionIn } from './session/snapshot.ts'
import { type Appearance, checkAppearance, type Look } from './view/appearance.ts'

/** The options of `Pulse.init`. */
export interface Setup {
  /** The browser key, `pk_beta_…`. Not a secret. */
  readonly publishableKey: string
  readonly workflow: string
  /** The container's id. By default the first `[data-pulse-widget]` is used. */
  readonly containerId?: string | undefined
  /** The address on your own backend that creates a session and returns its public form. */
  readonly sessionEndpoint?: string | undefined
  readonly appearance?: Appearance | undefined
  /**
   * The language of the widget as BCP 47, such as `pt-BR`. By default the `lang` of the page, then
   * the languages of the browser.
   */
  readonly locale?: string | undefined
}

/** A checked setup, with the appearance that was checked: the page may change its object later. */
export interface CheckedSetup extends Setup {
  readonly look: Look
  /** The origin that the script was loaded from: that service also has the languages. */
  readonly origin: string
}

/** The options of `Pulse.requireBond`. */
export interface BondRequest {
  readonly action: string
  /**
   * A public session that your page already has. By default the widget requests one from
   * `sessionEndpoint`.
   */
  readonly session?: object | undefined
  /**
   * A hint for your backend. The backend builds the context that the phone shows from its own
   * record.
   */
  readonly context?: unknown
  /**
   * Called when the user presses Try again in the widget, after the promise has settled with
   * another outcome than `bonded`. Start the request anew in it, with `requireBond`. The widget
   * shows the button only if you pass this function.
   *
   * @example { action, context, onRetry: () => form.requestSubmit() }
   */
  readonly onRetry?: (() => void) | undefined
}

/**
 * A key of this form can be sent as a header and as a subprotocol. The service decides about the
 * rest.
 */
const SENDABLE_KEY = /^pk_beta_[0-9A-Za-z]+$/

/**
 * Returns the checked setup.
 *
 * @param origin the origin that the script was loaded from; null for a copy that has none
 * @throws PulseError for a wrong option, and for a copy of the script
 */
export function checkSetup(setup: Setup, origin: string | null): CheckedSetup {
  if (origin === null)
    throw new PulseError(
      'script_not_hosted',
      'Load pulse.js from the service by a script tag or loadPulse(). A copy gets no fixes.',
    )
  const { publishableKey, workflow, containerId, sessionEndpoint, appearance, locale } =
    ownMembers(setup) ?? NO_MEMBERS
  if (typeof publishableKey === 'string' && publishableKey.startsWith('sk_'))
    throw new PulseError(
      'server_credential_exposed',
      'This is a server credential. Revoke it now, and pass the publishable key (pk_beta_…) instead.',
    )
  if (typeof publishableKey !== 'string' || !SENDABLE_KEY.test(publishableKey))
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
      'Pass `containerId`: the id of the reserved container, or omit it and mark the container with data-pulse-widget.',
    )
  if (sessionEndpoint !== undefined && !isAddressHere(sessionEndpoint))
    throw new PulseError(
      'session_endpoint_invalid',
      'Pass `sessionEndpoint`: the address on your own backend that creates a session, such as /bond-session.',
    )
  if (locale !== undefined && !isName(locale))
    throw new PulseError('locale_invalid', 'Pass `locale`: a language tag, such as de or pt-BR.')
  return {
    publishableKey,
    workflow,
    containerId,
    sessionEndpoint,
    look: checkAppearance(appearance),
    locale,
    origin,
  }
}

/** A checked request. Its session contains own members only. */
export interface CheckedRequest {
  readonly action: string
  readonly session: Members | undefined
  readonly context: unknown
  readonly onRetry: (() => void) | undefined
}

/**
 * Returns the checked request.
 *
 * @throws PulseError for a wrong option, or before `Pulse.init`
 */
export function checkRequest(setup: Setup | undefined, request: BondRequest): CheckedRequest {
  if (!setup)
    throw new PulseError(
      'not_initialised',
      'Call Pulse.init({ publishableKey, workflow, sessionEndpoint }) before Pulse.requireBond.',
    )
  const { action, session: givenSession, context, onRetry } = ownMembers(request) ?? NO_MEMBERS
  if (!isName(action))
    throw new PulseError(
      'action_invalid',
      'Pass `action`: the one protected action this bond is for, such as submit_application.',
    )
  const session =
    givenSession === undefined
      ? undefined
      : checkSession(givenSession, { workflow: setup.workflow, action })
  if (session === undefined && setup.sessionEndpoint === undefined)
    throw new PulseError(
      'session_endpoint_invalid',
      'Pass `session` to requireBond, or `sessionEndpoint` to init.',
    )
  if (onRetry !== undefined && typeof onRetry !== 'function')
    throw new PulseError('on_retry_invalid', 'Pass `onRetry`: a function, or omit it.')
  return {
    action,
    session,
    context: plainJson(context),
    onRetry: onRetry as CheckedRequest['onRetry'],
  }
}

/**
 * Returns the members of a session that the page's backend created.
 *
 * @throws PulseError for anything else, and for a session of another workflow or action
 */
export function checkSession(
  given: unknown,
  expected: { workflow: string; action: string },
): Members {
  const answer = ownMembers(given) ?? NO_MEMBERS
  const session = sessionIn(answer)
  if (!readAddress(session))
    throw new PulseError(
      'session_invalid',
      'Pass `session`: the create answer of your backend, with websocket_url, without completion_secret.',
    )
  if (answer['completion_secret'] || session['completion_secret'])
    throw new PulseError(
      'completion_secret_exposed',
      'Your backend sent completion_secret to the browser. Send publicSession(session) instead.',
    )
  if (!isFor(session, expected))
    throw new PulseError(
      'session_mismatch',
      `This session is for ${String(session['workflow'])}/${String(session['action'])}, not ${expected.workflow}/${expected.action}.`,
    )
  return session
}

/** Whether a session is for the workflow and action that the page requested. */
export function isFor(session: Members, expected: { workflow: string; action: string }): boolean {
  return (
    (session['workflow'] ?? expected.workflow) === expected.workflow &&
    (session['action'] ?? expected.action) === expected.action
  )
}

/**
 * Converts a value to JSON. A value that JSON cannot represent fails now, not later as a failed
 * request.
 */
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
