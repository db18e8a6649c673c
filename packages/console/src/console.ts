import { describeFailure, isDisplayText, makeId } from '@bonded/contract'
import { AUDIT_CLASSES } from '@bonded/cli/program/audit-classes'
import { runRecorded } from '@bonded/cli/program/open'
import type { AuditActor, AuditTarget } from '@bonded/core/domain/audit'
import { OperatorError } from '@bonded/core/operations/admin/operator-error'
import { recordAction } from '@bonded/core/operations/audit/audit'
import type { Service } from '@bonded/core/operations/service'
import { StoreError } from '@bonded/core/ports/store'
import type { Logger } from 'pino'
import { type Answer, type Call, cookie, redirect, SESSION_COOKIE } from './answer.ts'
import { textIn } from './fields.ts'
import { html } from './html.ts'
import { documentOf } from './layout.ts'
import { LIVE_SCRIPT } from './live-script.ts'
import { type ActionRoute, match, type Opened, type OpenedAction, type Route } from './page.ts'
import { messagePage, NOT_FOUND } from './pages/message.ts'
import { includes } from './roles.ts'
import { ROUTES } from './routes.ts'
import { type SignedIn, Sessions } from './sessions.ts'
import type { SignInMethod, SignInParts } from './sign-in.ts'
import { SCRIPT_POLICY } from './static-file.ts'
import { tenantsCalled } from './tenant-names.ts'

/** The script reads its own page. */
const LIVE_POLICY = `${SCRIPT_POLICY}; connect-src 'self'`
/** As `--reason` of a command. */
const MAX_REASON = 200
const SIGNED_OUT = {
  status: 200,
  title: 'You are signed out',
  text: 'Your session at the sign-in provider may go on. Sign out there too on a computer that you share.',
  link: { to: '/sign-in', text: 'Sign in' },
}
const SESSION_ENDED = {
  status: 403,
  title: 'You are not signed in',
  text: 'Your session has ended. Nothing was changed.',
  link: { to: '/sign-in', text: 'Sign in again' },
}

/** What a session has asked for. */
interface Asking<Of extends Opened = Opened> {
  readonly route: Route
  readonly opened: Of
  readonly session: SignedIn
  readonly call: Call
}

/** Answers the requests of a browser. The server has checked where they come from. */
export class Console {
  readonly #service: Service
  readonly #log: Logger
  readonly #signIn: SignInMethod
  readonly sessions: Sessions

  constructor(given: {
    readonly service: Service
    readonly log: Logger
    readonly signIn: (parts: SignInParts) => SignInMethod
  }) {
    const { service, log } = given
    const now = () => service.clock.now()
    this.#service = service
    this.#log = log
    this.sessions = new Sessions(now)
    this.#signIn = given.signIn({
      sessions: this.sessions,
      keys: service.keys,
      now,
      log,
      record: (action, actor, result) => this.#record({ action, actor, result }),
    })
  }

  /** @throws what is neither an answer of an operation nor an outage of the database */
  async answer(call: Call): Promise<Answer> {
    try {
      return await this.#answer(call)
    } catch (failure) {
      const { session } = call
      const link = { to: '/', text: 'Start page' }
      if (failure instanceof StoreError) {
        const { kind } = failure
        this.#log.error({ kind, detail: describeFailure(failure) }, 'the database does not answer')
        return messagePage({
          status: 503,
          title: 'The database does not answer',
          text: 'The log of the console has the cause. The service may be affected too: run bonded doctor. Then load this page again.',
          link,
          session,
        })
      }
      if (!(failure instanceof OperatorError)) throw failure
      const status = isNotFound(failure) ? 404 : 409
      const title = status === 404 ? 'Not found' : 'That is not possible'
      return messagePage({ status, title, text: `${failure.message}.`, link, session })
    }
  }

  async #answer(call: Call): Promise<Answer> {
    const { url, method, session } = call
    const place = `${method} ${url.pathname}`
    const answer = await this.#signIn.answer(call)
    if (answer !== undefined) return answer
    if (place === 'GET /signed-out') return messagePage(SIGNED_OUT)
    const address = `${url.pathname}${url.search}`
    if (method === 'GET' && (session === undefined || !this.#signIn.isCurrent(session)))
      return redirect(signInFor(address))
    // A redirect would take the form's answer to the provider, which the policy forbids.
    if (session === undefined) return messagePage(SESSION_ENDED)
    if (
      method === 'POST' &&
      !this.#service.keys.same(call.form.get('token') ?? '', session.formToken)
    )
      return this.#refused(call, session, 'foreign_form')
    if (place === 'POST /sign-out') return this.#signOut(call, session)
    const listed = await this.#nameTenant(url.searchParams)
    if (listed !== undefined) return redirect(listed)
    for (const route of ROUTES) {
      const params = match(route.path, url.pathname)
      if (params === undefined) continue
      if (!includes(session.role, route.role)) return this.#refused(call, session, 'role', route)
      const asked = { params, query: url.searchParams }
      if ('changes' in route) {
        const opened = route.open(asked)
        if (opened === undefined) break
        return this.#act({ route, opened, session, call }, route)
      }
      const opened = route.open(asked)
      if (opened === undefined) break
      if (method === 'GET') return this.#show({ route, opened, session, call })
    }
    return messagePage({ ...NOT_FOUND, session })
  }

  /**
   * Replaces the name of a tenant in a query by its id.
   *
   * @returns the address of the list, where several tenants have it in their name, or none
   */
  async #nameTenant(query: URLSearchParams): Promise<string | undefined> {
    for (const member of ['tenant', 'about']) {
      const q = textIn(query, member)
      if (q === undefined || /^(?:ten|dev|sub|sess|req|evt)_/.test(q)) continue
      const [found, ...others] = await tenantsCalled(this.#service, q)
      if (found === undefined || others.length > 0)
        return `/tenants?${new URLSearchParams({ q }).toString()}`
      query.set(member, found.id)
    }
    return undefined
  }

  async #signOut(call: Call, session: SignedIn): Promise<Answer> {
    this.sessions.end(session)
    await this.#record({ action: 'console sign-out', actor: actorOf(session, call) })
    return redirect('/signed-out', [cookie(SESSION_COOKIE, '', 0)])
  }

  async #show(asking: Asking, form = html``): Promise<Answer> {
    const { route, opened, session, call } = asking
    const path = call.url.pathname
    const draw = await this.#run(asking, route.action, opened.read).catch((failure: unknown) => {
      if (opened.missing && isNotFound(failure)) return undefined
      throw failure
    })
    if (draw === undefined)
      return {
        status: 404,
        body: documentOf({ title: NOT_FOUND.title, body: html`${opened.missing}`, session, path }),
      }
    const { clock, settings } = this.#service
    const view = { now: clock.now(), session, publicOrigin: settings.publicOrigin }
    const script =
      route.isLive &&
      html`<p class="hint" role="status"></p><script src="${LIVE_SCRIPT.path}" defer></script>`
    const body = html`${draw(view)}${form}${script}`
    return {
      status: 200,
      headers: script ? { 'content-security-policy': LIVE_POLICY } : {},
      body: documentOf({ title: route.title, body, session, path }),
    }
  }

  /** Asks, or does what the operator has confirmed. Both need a recent sign-in. */
  async #act(asking: Asking<OpenedAction>, action: ActionRoute): Promise<Answer> {
    const { call, opened, session } = asking
    const again = `${signInFor(call.url.pathname)}&fresh`
    const isRecent = this.sessions.isFresh(session) && this.#signIn.isCurrent(session)
    if (!isRecent && call.method === 'GET') return redirect(again)
    if (!isRecent)
      return messagePage({
        status: 403,
        title: 'Sign in again',
        text: 'Your sign-in is too long ago for this action. Nothing was changed.',
        link: { to: again, text: 'Sign in again' },
        session,
      })
    if (call.method === 'GET') return this.#show(asking, question(action, session))
    const reason = call.form.get('reason')?.trim() ?? ''
    if (reason !== '' && !(isDisplayText(reason) && Array.from(reason).length <= MAX_REASON))
      throw new OperatorError(`The reason has at most ${MAX_REASON} visible characters`, {
        code: 'invalid',
      })
    await this.#run(asking, action.changes, opened.run, reason)
    return redirect(opened.next)
  }

  #run<T>(
    { opened, session, call }: Asking,
    action: string,
    work: (service: Service) => Promise<T>,
    reason?: string,
  ): Promise<T> {
    const auditClass = AUDIT_CLASSES[action]
    if (auditClass === undefined) throw new Error(`AUDIT_CLASSES lacks "${action}"`)
    const audited = {
      auditClass,
      action: {
        action,
        actor: actorOf(session, call),
        requestId: this.#newRequestId(),
        target: opened.target,
        reason: reason || undefined,
      },
    }
    return runRecorded(this.#service, audited, work)
  }

  async #refused(
    call: Call,
    session: SignedIn,
    code: 'role' | 'foreign_form',
    route?: Route,
  ): Promise<Answer> {
    const action = route && 'changes' in route ? route.changes : route?.action
    const actor = actorOf(session, call)
    await this.#record({ action: action ?? 'console', actor, result: `refused_${code}` })
    return messagePage({
      status: 403,
      title: 'That is not permitted',
      text:
        code === 'role'
          ? `It needs the role ${route?.role}, and you have the role ${session.role}. Ask an administrator of your sign-in provider for a group that has it.`
          : 'The form is not of this session. Usually you have signed in again since it was shown. Nothing was changed: open the page again.',
      link: { to: '/', text: 'Start page' },
      session,
    })
  }

  async #record(of: { action: string; actor: AuditActor; result?: string | undefined }) {
    const { action, actor, result } = of
    const target: AuditTarget = {}
    const entry = { action, actor, requestId: this.#newRequestId(), target }
    await recordAction(this.#service, entry, result)
  }

  #newRequestId() {
    return makeId('req', this.#service.random.id())
  }
}

function isNotFound(failure: unknown): boolean {
  return failure instanceof OperatorError && failure.code === 'not_found'
}

function signInFor(path: string): string {
  return `/sign-in?to=${encodeURIComponent(path)}`
}

function actorOf({ subject: name, issuer }: SignedIn, { address }: Call): AuditActor {
  return { kind: 'console', name, issuer, address }
}

function question({ verb }: ActionRoute, { formToken }: SignedIn) {
  return html`<form class="ask" method="post"><input type="hidden" name="token" value="${formToken}">
<label class="wide">Why, for the audit log: a ticket number, and no data of a user
<input name="reason" maxlength="${MAX_REASON}" autocomplete="off"></label>
<button class="stop">${verb}</button></form>`
}
