import { describeFailure } from '@bonded/contract'
import type { AuditActor } from '@bonded/core/domain/audit'
import type { Keyring } from '@bonded/core/ports/keyring'
import type { Logger } from 'pino'
import {
  type Answer,
  ATTEMPT_COOKIE,
  type Call,
  cookie,
  redirect,
  SESSION_COOKIE,
} from './answer.ts'
import { ATTEMPT_SECONDS, Attempts } from './attempts.ts'
import { type Provider, SignInError, type SignInFailure } from './provider.ts'
import type { Sessions, SignedIn } from './sessions.ts'
import { messagePage } from './pages/message.ts'

/** After it, the provider states the groups again. Its own session answers that unseen. */
const CLAIMS_MS = 10 * 60_000
/** Callbacks that wait for the provider. */
const MAX_CALLBACKS = 8
/** Those of one address, so that a stranger does not take the places of all operators. */
const MAX_CALLBACKS_OF_ADDRESS = 2
const MINUTE_MS = 60_000

/** Records a sign-in, or its rejection with a code. */
type RecordSignIn = (action: string, actor: AuditActor, result?: string) => Promise<void>

/** What every way to sign in works with. */
export interface SignInParts {
  readonly sessions: Sessions
  readonly keys: Pick<Keyring, 'same'>
  readonly now: () => number
  readonly log: Logger
  readonly record: RecordSignIn
}

/** A way to sign in. */
export interface SignInMethod {
  /** Answers the requests to its own addresses. Undefined for all others. */
  answer(call: Call): Promise<Answer | undefined>
  /** Whether the role of a session is recent enough to show something. */
  isCurrent(session: SignedIn): boolean
}

/** What the page says. */
export const MESSAGES: Readonly<Record<SignInFailure, string>> = {
  provider_unavailable:
    'The sign-in provider did not answer, or not as it should. Try again in a minute, or ask its administrator.',
  provider_misconfigured:
    'The sign-in provider and the access file of this console do not fit. Its operator has to change one of them.',
  provider_rejected:
    'The sign-in provider rejected the request of this console. Its administrator has to correct the client there: its secret, its scopes, or what it requires.',
  not_begun_here:
    'Your browser sent no cookie of a sign-in that began here in the last 10 minutes. Usually it blocks cookies, the sign-in began in another browser, or the console was restarted.',
  not_signed_in:
    'The provider did not confirm a new sign-in. Usually it was canceled, took too long, or was opened twice.',
  token_rejected:
    'The answer of the provider was rejected, because it does not verify. The log of the console has the reason.',
  no_role: 'None of your groups has a role here. Ask an administrator of your provider for one.',
}

const BUSY = messagePage({
  status: 503,
  title: 'The sign-in is busy',
  text: 'Too many sign-ins wait for the provider. Load this page again to go on with yours.',
  link: { to: '/sign-in', text: 'Sign in again' },
})

/** Signs operators in with an OpenID provider. */
export class ProviderSignIn implements SignInMethod {
  readonly #parts: SignInParts
  readonly #provider: Provider
  readonly #attempts: Attempts
  /** The addresses of callbacks that wait for the provider. */
  readonly #waiting: string[] = []
  /** By code, what anyone can cause: when it was logged, and how often it was not since then. */
  readonly #logged = new Map<SignInFailure, { readonly at: number; count: number }>()

  constructor(provider: Provider, parts: SignInParts) {
    this.#parts = parts
    this.#provider = provider
    this.#attempts = new Attempts(parts.now)
  }

  async answer(call: Call): Promise<Answer | undefined> {
    const place = `${call.method} ${call.url.pathname}`
    if (place === 'GET /sign-in') return this.#begin(call)
    return place === 'GET /callback' ? this.#finish(call) : undefined
  }

  isCurrent({ claimedAt }: SignedIn): boolean {
    return this.#parts.now() < claimedAt + CLAIMS_MS
  }

  /** Sends the browser to the provider. */
  async #begin({ url }: Call): Promise<Answer> {
    const value = this.#attempts.begin(url.searchParams)
    try {
      const attempt = this.#attempts.read(value)
      if (attempt === undefined) throw new SignInError('not_signed_in')
      const address = await this.#provider.addressOf(attempt)
      return redirect(address.href, [cookie(ATTEMPT_COOKIE, value, ATTEMPT_SECONDS)])
    } catch (failure) {
      return this.#rejected(failure, undefined)
    }
  }

  /** Reads what the provider says of itself, and logs why that is of no use. */
  async check(): Promise<void> {
    try {
      await this.#provider.check()
    } catch (failure) {
      const isKnown = failure instanceof SignInError
      const detail = isKnown ? logged(failure) : describeFailure(failure)
      const code = isKnown ? failure.code : 'unexpected'
      this.#parts.log.error({ code, detail }, 'the sign-in does not work')
    }
  }

  /** Begins a session for the operator whom the provider names. */
  async #finish(call: Call): Promise<Answer> {
    const { sessions, keys, record } = this.#parts
    const value = call.cookies.get(ATTEMPT_COOKIE) ?? ''
    const attempt = this.#attempts.read(value)
    const state = call.url.searchParams.get('state') ?? ''
    if (attempt === undefined || !keys.same(state, attempt.secret('state')))
      return this.#rejected(new SignInError('not_begun_here'), undefined)
    // Before the attempt is used, so that the operator can load the page again.
    if (!this.#hasRoom(call)) return BUSY
    // The state is right, so this attempt was begun here. The provider is called for it once.
    if (!this.#attempts.use(value)) return rejectionOf('not_signed_in')
    this.#waiting.push(call.address)
    try {
      const address = new URL(this.#provider.redirectUri)
      address.search = call.url.search
      const operator = await this.#provider.operatorOf(address, attempt)
      const { subject: name, issuer } = operator
      await record('console sign-in', { kind: 'console', name, issuer, address: call.address })
      const id = sessions.begin(operator, call.session)
      return redirect(attempt.to, [cookie(SESSION_COOKIE, id), cookie(ATTEMPT_COOKIE, '', 0)])
    } catch (failure) {
      return await this.#rejected(failure, call)
    } finally {
      this.#waiting.splice(this.#waiting.indexOf(call.address), 1)
    }
  }

  #hasRoom({ address }: Call): boolean {
    const own = this.#waiting.filter((each) => each === address)
    return this.#waiting.length < MAX_CALLBACKS && own.length < MAX_CALLBACKS_OF_ADDRESS
  }

  /** @param call of a callback, whose rejection is recorded if the provider issued a token */
  async #rejected(failure: unknown, call: Call | undefined): Promise<Answer> {
    if (!(failure instanceof SignInError)) throw failure
    const { code, subject } = failure
    const { record, sessions } = this.#parts
    const isOfToken = subject !== undefined || code === 'token_rejected'
    this.#log(failure, isOfToken)
    if (call !== undefined && isOfToken) {
      // An operator whose groups no longer give a role is signed out at once.
      if (call.session !== undefined && code === 'no_role') sessions.end(call.session)
      const actor = { kind: 'console', name: subject ?? 'unknown', address: call.address } as const
      await record('console sign-in', actor, code)
    }
    return rejectionOf(code, failure.detail)
  }

  /** Logs every rejected token. Anyone can cause the rest: of a code, one line a minute. */
  #log(failure: SignInError, isOfToken: boolean): void {
    const { code } = failure
    const { log, now } = this.#parts
    const last = this.#logged.get(code)
    if (!isOfToken && last !== undefined && now() < last.at + MINUTE_MS) {
      last.count++
      return
    }
    if (!isOfToken) this.#logged.set(code, { at: now(), count: 0 })
    const omitted = isOfToken ? undefined : last?.count
    const detail = logged(failure)
    log.warn({ code, detail, omitted }, 'a sign-in was rejected')
  }
}

function rejectionOf(code: SignInFailure, detail?: string): Answer {
  const isOutage = code === 'provider_unavailable' || code === 'provider_misconfigured'
  return messagePage({
    status: isOutage ? 503 : 403,
    title: 'You are not signed in',
    text: detail === undefined ? MESSAGES[code] : `${MESSAGES[code]} ${detail}`,
    link: { to: '/sign-in', text: 'Sign in again' },
  })
}

/** What the page has, and the cause, which can name addresses of the operator's network. */
function logged({ cause, detail }: SignInError): string | undefined {
  const parts = [detail, cause === undefined ? undefined : describeFailure(cause)]
  return parts.filter((part) => part !== undefined).join(' ') || undefined
}
