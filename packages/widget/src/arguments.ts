import { type Members, NO_MEMBERS, ownMembers, PURPOSE_NAME, withoutNulls } from '@bonded/contract'
import { parseUrl } from './parse-url.ts'
import { PulseError } from './pulse-error.ts'
import { isWebAddress, readAddress, sessionIn } from './session/snapshot.ts'
import { type Appearance, checkAppearance, type Look } from './view/appearance.ts'

/** The options of `Pulse.init`. An optional member that is null counts as omitted. */
export interface Setup {
  /** The browser key, `pk_beta_…`. Not a secret. */
  readonly publishableKey: string
  /** A name of `A-Z a-z 0-9 . _ -`, at most 64 characters. */
  readonly workflow: string
  /** The container's id. By default the first `[data-pulse-widget]` is used. */
  readonly containerId?: string | null | undefined
  /** The address on your own backend that creates a session and returns its public form. */
  readonly sessionEndpoint?: string | null | undefined
  /**
   * `include` sends the user's cookies to a `sessionEndpoint` of another origin, which must allow
   * credentials from this page's origin (CORS). By default only the page's own origin gets them.
   */
  readonly sessionEndpointCredentials?: 'same-origin' | 'include' | null | undefined
  readonly appearance?: Appearance | null | undefined
  /**
   * The language of the widget as BCP 47, such as `pt-BR`. By default the `lang` of the page, then
   * the languages of the browser.
   */
  readonly locale?: string | null | undefined
}

/** A checked setup, with the appearance that was checked: the page may change its object later. */
export interface CheckedSetup {
  readonly publishableKey: string
  readonly workflow: string
  readonly containerId: string | undefined
  /** An absolute address. */
  readonly sessionEndpoint: string | undefined
  readonly sessionEndpointCredentials: 'same-origin' | 'include'
  readonly locale: string | undefined
  readonly look: Look
  /** The origin that the script was loaded from: that service also has the languages. */
  readonly origin: string
}

/** The options of `Pulse.requireBond`. An optional member that is null counts as omitted. */
export interface BondRequest {
  /** A name of `A-Z a-z 0-9 . _ -`, at most 64 characters. */
  readonly action: string
  /**
   * A public session that your page already has. By default the widget requests one from
   * `sessionEndpoint`.
   */
  readonly session?: object | null | undefined
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
  readonly onRetry?: (() => void) | null | undefined
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
      'Load pulse.js from the service: by a tag, not as a module, or loadPulse().',
    )
  const options = withoutNulls(ownMembers(setup) ?? NO_MEMBERS)
  const { publishableKey, workflow, containerId, sessionEndpoint, appearance, locale } = options
  const { sessionEndpointCredentials = 'same-origin' } = options
  if (typeof publishableKey === 'string' && publishableKey.startsWith('sk_'))
    throw new PulseError(
      'server_credential_exposed',
      'This is a server credential. Revoke it now, and pass the browser key.',
    )
  if (typeof publishableKey !== 'string' || !SENDABLE_KEY.test(publishableKey))
    throw new PulseError(
      'publishable_key_invalid',
      'Pass `publishableKey`: the browser key of your tenant, pk_beta_…',
    )
  if (!isPurposeName(workflow))
    throw new PulseError(
      'workflow_invalid',
      `Pass \`workflow\`: a workflow of this key, such as credit_application, of ${NAME_FORM}.`,
    )
  if (containerId !== undefined && !isName(containerId))
    throw new PulseError(
      'container_id_invalid',
      'Pass `containerId`: the id of the container, or mark it with data-pulse-widget.',
    )
  const endpoint = parseUrl(sessionEndpoint, document.baseURI)
  if (sessionEndpoint !== undefined && !(sessionEndpoint && isWebAddress(endpoint?.href)))
    throw new PulseError(
      'session_endpoint_invalid',
      'Pass `sessionEndpoint`: an address of your backend that creates a session, such as /bond-session.',
    )
  // The API of the service: only backends create sessions there.
  if (endpoint?.origin === origin && endpoint.pathname.startsWith('/api/'))
    throw new PulseError(
      'session_endpoint_invalid',
      '`sessionEndpoint` is the service. Pass an address of your backend that creates a session, such as /bond-session.',
    )
  if (sessionEndpointCredentials !== 'same-origin' && sessionEndpointCredentials !== 'include')
    throw new PulseError(
      'session_endpoint_credentials_invalid',
      'Pass `sessionEndpointCredentials`: same-origin or include.',
    )
  if (locale !== undefined && !isName(locale))
    throw new PulseError('locale_invalid', 'Pass `locale`: a language tag, such as de or pt-BR.')
  return {
    publishableKey,
    workflow,
    containerId,
    sessionEndpoint: endpoint?.href,
    sessionEndpointCredentials,
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
export function checkRequest(
  setup: CheckedSetup | undefined,
  request: BondRequest,
): CheckedRequest {
  if (!setup) throw new PulseError('not_initialised', 'Call Pulse.init before Pulse.requireBond.')
  const {
    action,
    session: givenSession,
    context,
    onRetry,
  } = withoutNulls(ownMembers(request) ?? NO_MEMBERS)
  if (!isPurposeName(action))
    throw new PulseError(
      'action_invalid',
      `Pass \`action\`: the protected action, such as submit_application, of ${NAME_FORM}.`,
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
    throw new PulseError('on_retry_invalid', 'Pass `onRetry`: a function.')
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
  const response = ownMembers(given) ?? NO_MEMBERS
  const session = sessionIn(response)
  if (!readAddress(session))
    throw new PulseError(
      'session_invalid',
      'Pass `session`: the public session of your backend, with websocket_url.',
    )
  if (response['completion_secret'] || session['completion_secret'])
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
    throw new PulseError('context_invalid', 'Pass a `context` that JSON can hold.')
  }
}

/** The form of names of workflows and actions, for messages. */
const NAME_FORM = 'A-Z a-z 0-9 . _ -, at most 64 characters'

function isPurposeName(value: unknown): value is string {
  return typeof value === 'string' && PURPOSE_NAME.test(value)
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
