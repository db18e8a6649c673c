import { describeFailure, type GivenContext } from '@bonded/contract'
import { bindingDigest } from '../binding-digest.ts'
import { cleanDisplay, type FormDisplay } from '../display-text.ts'
import { GateError } from '../errors.ts'
import type { Gate } from '../gate.ts'
import { requireOptions } from '../required.ts'
import { adviceFor } from '../user-messages.ts'
import type { CreateBond } from '../verbs/create.ts'
import type { ProtectedSubmit, ProtectOutcome } from '../verbs/protect.ts'
import type { AcceptVerdict, ReviewVerdict } from '../verbs/verdict.ts'
import { isCrossSite, type ReadHeader } from './cross-site.ts'
import { requireAddress } from './user-address.ts'
import { warnOnceAMinute } from './warn.ts'

type Awaitable<T> = T | Promise<T>

/** The members of a session that only you know. */
export type BondFacts = Pick<CreateBond, 'subject_ref' | 'phone_number' | 'publishableKey'>

/**
 * One form behind the gate. `Request` is your framework's request, `Form` your record, and `Tx` the
 * transaction of the gate's pending store.
 */
export interface GatedFormOptions<Request, Tx, Form extends object, T>
  extends Pick<ProtectedSubmit<Tx, T>, 'workflow' | 'action'> {
  readonly gate: Gate<Tx>
  /** The signed-in user, or the browser's login. Without one, both routes answer 401. */
  readonly owner: (request: Request) => Awaitable<string | null | undefined>
  /**
   * The IP address of the user's browser: `request.ip` of a framework that trusts your proxy, or
   * {@link forwardedAddress}. The service limits the sessions of each network by it. With
   * `visitors_share_one_limit` one visitor can use up the sessions of all others.
   */
  readonly address:
    | ((request: Request) => Awaitable<string | null | undefined>)
    | 'visitors_share_one_limit'
  /**
   * Your own record of what this user wants to submit, such as a saved draft. Never build it from
   * the context that the widget sends. Without a record, the session route answers 409.
   */
  readonly record: (owner: string, request: Request) => Awaitable<Form | null | undefined>
  /**
   * The label and value pairs that the phone shows and signs. `displayText` cleans each of them; a
   * pair that no phone could show answers 400 with `form_invalid`, its `param` and its label.
   */
  readonly display: (record: Form) => GivenContext['display']
  /** The protected action, in the transaction that uses the bond. The page receives its result. */
  readonly accept: (tx: Tx, form: Form, verdict: AcceptVerdict) => Promise<T>
  /** Stores the form for review by an employee. If omitted, a weak bond answers 403. */
  readonly review?: (tx: Tx, form: Form, verdict: ReviewVerdict) => Promise<T>
  /**
   * Turns the submitted fields into the shape of your record: the two must have the same digest. If
   * omitted, the fields are the form. Return undefined for invalid fields.
   */
  readonly parse?: (fields: Readonly<Record<string, unknown>>) => Form | undefined
  /** What you know of the user, such as the `subject_ref` of an earlier bond. */
  readonly bond?: (owner: string, request: Request) => Awaitable<BondFacts>
  /** Further origins whose pages may use these routes, such as `https://www.bank.example`. */
  readonly origins?: readonly string[]
  /**
   * Reads each outcome: log it, and after `completion_pending` retry `gate.complete`.
   */
  readonly onOutcome?: (outcome: ProtectOutcome<T>, session_id: string) => void
  /**
   * Reads each error of the gate, for your log, also where the page receives an answer. If omitted,
   * the gate writes each code to `console.warn` at most once a minute.
   */
  readonly onError?: (error: GateError) => void
}

/** A response before the framework sends it. */
export interface FormReply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: object
}

/** The parts of a request that every framework has. */
export interface FormRequest<Request> {
  readonly request: Request
  readonly header: ReadHeader
  /** The parsed body. Undefined if it is none. */
  readonly body: () => Awaitable<unknown>
}

/** @throws {GateError} `invalid_configuration` for a form without a required option */
export function checkForm(form: { readonly address: unknown }): void {
  requireOptions('gatedForm', form, {
    gate: ['create', 'protect'],
    workflow: 'a text',
    action: 'a text',
    owner: 'a function',
    record: 'a function',
    display: 'a function',
    accept: 'a function',
  })
  const { address } = form
  if (typeof address === 'function' || address === 'visitors_share_one_limit') return
  throw new GateError(
    'invalid_configuration',
    'Pass address to gatedForm: a function that returns the user’s IP address, or visitors_share_one_limit.',
  )
}

/** The route of the widget's `sessionEndpoint`. It reads no body: the record is your own. */
export async function replyToSession<Request, Tx, Form extends object, T>(
  form: GatedFormOptions<Request, Tx, Form, T>,
  { request, header }: Pick<FormRequest<Request>, 'request' | 'header'>,
): Promise<FormReply> {
  if (isCrossSite(header, form.origins)) return CROSS_SITE
  const owner = await form.owner(request)
  if (!owner) return LOGIN_MISSING
  const record = await form.record(owner, request)
  if (record === undefined || record === null) return RECORD_MISSING
  const digest = await bindingDigest(record).catch(() => undefined)
  if (digest === undefined) return formInvalid(await unboundField(record))
  const cleaned = displayOf(form, record)
  if (cleaned === undefined) return DISPLAY_FAILED
  if ('param' in cleaned) return formInvalid(cleaned)
  const context = { display: cleaned.display, digest }
  const { workflow, action } = form
  try {
    const facts = await form.bond?.(owner, request)
    const address = await addressOf(form, request)
    const { session } = await form.gate.create({
      ...facts,
      ...address,
      workflow,
      action,
      owner,
      context,
    })
    return reply(201, session)
  } catch (error) {
    report(form, error)
    const { param } = error instanceof GateError ? error : { param: undefined }
    if (isSuspended(error)) return SUSPENDED
    if (param?.startsWith('context.') === true) return formInvalid(fieldAt(param, context.display))
    // Any other error is a fault of the configuration, which the framework answers.
    if (!(error instanceof GateError && error.retryable)) throw error
    const seconds = Math.ceil((error.retryAfterMs ?? 1_000) / 1_000)
    return { ...UNAVAILABLE, headers: { ...UNAVAILABLE.headers, 'retry-after': String(seconds) } }
  }
}

/** The cleaned pairs. Undefined if `display` throws, which is reported as an error of its own. */
function displayOf<Form>(
  form: Reporting & { readonly display: (record: Form) => GivenContext['display'] },
  record: Form,
): FormDisplay | undefined {
  try {
    return cleanDisplay(form.display(record))
  } catch (cause) {
    const message = `The option display of gatedForm threw: ${describeFailure(cause)}.`
    report(form, new GateError('invalid_configuration', message, { cause }))
    return undefined
  }
}

/** Whether the operator of the service has suspended the tenant: a retry does not help. */
function isSuspended(error: unknown): boolean {
  return error instanceof GateError && error.reason === 'tenant_suspended'
}

async function addressOf<Request>(
  { address }: Pick<GatedFormOptions<Request, never, object, never>, 'address'>,
  request: Request,
): Promise<Pick<CreateBond, 'end_user_address'>> {
  if (address === 'visitors_share_one_limit') return {}
  return { end_user_address: requireAddress(await address(request)) }
}

/** The protected submit: the fields of the form, `session_id`, and `browser_secret` if there is. */
export async function replyToSubmit<Request, Tx, Form extends object, T>(
  options: GatedFormOptions<Request, Tx, Form, T>,
  { request, header, body }: FormRequest<Request>,
): Promise<FormReply> {
  if (isCrossSite(header, options.origins)) return CROSS_SITE
  const owner = await options.owner(request)
  if (!owner) return LOGIN_MISSING
  const fields = await body()
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) return BODY_MISSING
  const { session_id, browser_secret, ...rest } = fields as Record<string, unknown>
  // Without `parse`, the digest decides: only fields equal to the record pass the gate.
  const form = options.parse === undefined ? (rest as Form) : options.parse(rest)
  const form_digest = form && (await bindingDigest(form).catch(() => undefined))
  if (form === undefined) return formInvalid()
  if (form_digest === undefined) return formInvalid(await unboundField(form))
  const { gate, workflow, action, review } = options
  const id = typeof session_id === 'string' ? session_id : ''
  const submitted = gate.protect({
    workflow,
    action,
    owner,
    session_id: id,
    form_digest,
    browser_secret: typeof browser_secret === 'string' ? browser_secret : undefined,
    accept: (tx, verdict) => options.accept(tx, form, verdict),
    ...(review && { review: (tx, verdict) => review(tx, form, verdict) }),
  })
  const outcome = await submitted.catch((error: unknown) => {
    report(options, error)
    throw error
  })
  if ('error' in outcome) report(options, outcome.error)
  options.onOutcome?.(outcome, id)
  return replyToOutcome(outcome)
}

/** A framework may log nothing of an error, and a page must read nothing of it. */
function report({ onError = warnOnceAMinute }: Reporting, error: unknown): void {
  if (error instanceof GateError) onError(error)
}
type Reporting = { readonly onError?: ((error: GateError) => void) | undefined }

function replyToOutcome<T>(outcome: ProtectOutcome<T>): FormReply {
  if ('result' in outcome) {
    // The action is durable in both cases, so a pending completion is a success for the user.
    const { decision, result } = outcome
    return reply(200, { outcome: decision === 'accept' ? 'accepted' : 'in_review', result })
  }
  const retryable = outcome.outcome === 'rejected' && outcome.error?.retryable === true
  // The sentence names no check: an attacker must not learn which one failed.
  return problem(retryable ? 503 : 403, 'not_approved', outcome.advice.join(' '))
}

/** What is wrong with a form: the member, and the label that the user knows it by. */
interface WrongField {
  readonly param: string
  readonly label?: string | undefined
  readonly problem?: string | undefined
}

function formInvalid({ param, label, problem }: Partial<WrongField> = {}): FormReply {
  const field = label ?? param
  const because = problem === undefined ? '' : `: ${problem}`
  const message =
    field === undefined
      ? `Check the fields of the form${because}.`
      : `Check the field “${field}” of the form${because}.`
  return reply(400, { error: { code: 'form_invalid', message, ...(param && { param }) } })
}

/** The pair that the service rejected. */
function fieldAt(param: string, display: GivenContext['display']): WrongField {
  const [, index = ''] = /^context\.display\.(\d+)/.exec(param) ?? []
  return { param, label: display[Number.parseInt(index, 10)]?.label }
}

/** The first field that has no digest, such as a text that a browser cut within an emoji. */
async function unboundField(form: object): Promise<Partial<WrongField>> {
  for (const [param, value] of Object.entries(form))
    if ((await bindingDigest({ [param]: value }).catch(() => undefined)) === undefined)
      return { param }
  return {}
}

function reply(status: number, body: object): FormReply {
  return { status, headers: { 'cache-control': 'no-store' }, body }
}

/** An answer that the page shows. */
export function problem(status: number, code: string, message: string): FormReply {
  return reply(status, { error: { code, message } })
}

const CROSS_SITE = problem(403, 'cross_site', 'Send this from the site’s own page.')
const LOGIN_MISSING = problem(401, 'login_missing', 'Sign in, then open the form again.')
const RECORD_MISSING = problem(409, 'record_missing', 'Fill in the form first.')
const BODY_MISSING = problem(
  400,
  'body_missing',
  'The server read no form. Send JSON with Content-Type: application/json of at most 64 KiB, and parse it before this route.',
)
const DISPLAY_FAILED = problem(
  500,
  'display_failed',
  'This cannot be shown on a phone, because of a fault of the site. Nothing was sent.',
)
const SUSPENDED = problem(403, 'approval_suspended', adviceFor('tenant_suspended'))
const UNAVAILABLE = problem(
  503,
  'approval_unavailable',
  'Approving by phone does not work at the moment. Nothing was sent. Try again in a minute.',
)
