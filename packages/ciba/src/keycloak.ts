import type { IncomingMessage, ServerResponse } from 'node:http'
import { describeFailure, isDisplayValue, type Members, parseMembers } from '@bonded/contract'
import { GateError } from '@bonded/integrator'
import {
  ApprovalError,
  type Approvals,
  type ApprovalStatus,
  createApprovals,
  NotStarted,
} from '@bonded/integrator/approval'
import type { Send } from './checked-send.ts'
import type { KeycloakRealm } from './config.ts'
import { bearerReader } from './keycloak-bearer.ts'
import { type RequestsOptions, unlessStarted } from './requests.ts'
import type { Notice } from './sqlite-rows.ts'

/** Keycloak sends a few short members. */
const MAX_BODY_CHARS = 8_192
const LOG_EVERY_S = 60
/** Of the arguments, whose members never change. */
const VERSION = '1'
/** Failures before the callback was sent. After the others, it may have arrived. */
const NOT_SENT: readonly unknown[] = [
  'address_rejected',
  'name_not_found',
  'not_reachable',
  'service_failed',
  'intermediate_missing',
  'certificate_expired',
  'certificate_of_other_name',
  'certificate_untrusted',
]
/** Keycloak, or a proxy before it, responds with these before a request changes. */
const REFUSED: readonly unknown[] = [301, 302, 303, 307, 308, 401, 403, 404, 429]

/** What the user approves. The client of Keycloak writes what is in `unsigned`. */
interface SignIn {
  readonly sign_in: { readonly realm: string; readonly client: string; readonly user: string }
  readonly unsigned: Members
}

type Answer = 'SUCCEED' | 'UNAUTHORIZED' | 'CANCELLED'
/** The others tell Keycloak nothing: the user can still answer, or the answer was sent. */
const REJECTIONS: Readonly<Partial<Record<ApprovalStatus, Answer>>> = {
  declined: 'UNAUTHORIZED',
  reported: 'CANCELLED',
  review: 'CANCELLED',
  ended: 'CANCELLED',
  expired: 'CANCELLED',
}

export interface KeycloakOptions extends Omit<RequestsOptions, 'config'> {
  readonly realm: KeycloakRealm
  /** The origin of the service. */
  readonly service: string
  readonly send: Send
}

/** The channel by which Keycloak asks a user whether to sign in (`ciba-http-auth-channel`). */
export class KeycloakChannel {
  readonly #options: KeycloakOptions
  readonly #approvals: Approvals<SignIn>
  readonly #readBearer: ReturnType<typeof bearerReader>
  #nextLogAt = 0

  /** @throws {GateError} `invalid_configuration` */
  constructor(options: KeycloakOptions) {
    const { realm, service, credential, store } = options
    const { workflow, action } = realm
    this.#options = options
    this.#readBearer = bearerReader(realm)
    this.#approvals = createApprovals<SignIn>({
      service: { baseUrl: service, serverCredential: credential },
      store,
      workflow,
      action,
      version: VERSION,
      describe: ({ unsigned: { binding_message: value } }) =>
        typeof value === 'string'
          ? [...realm.display, { label: realm.claim_label, value }]
          : realm.display,
    })
  }

  /** Answers a call of Keycloak, which reads the status alone. */
  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { log, now } = this.#options
    const status = await this.#ask(request).catch((err: unknown) => {
      // Anyone can cause this while the keys of the realm cannot be fetched.
      if (now() < this.#nextLogAt) return 503
      this.#nextLogAt = now() + LOG_EVERY_S
      log.error({ err }, 'a call of Keycloak failed')
      return 503
    })
    response.writeHead(status).end()
  }

  /** The status of the answer: 201 where the user is asked. */
  async #ask(request: IncomingMessage): Promise<number> {
    const { realm, rows, log, noticed, now } = this.#options
    const bearer = await this.#readBearer(request.headers.authorization)
    if (bearer === undefined) return 401
    const { token, jti, sub, exp } = bearer
    const rejected = (detail: string, status = 400): number => {
      log.info({ client: bearer.client, detail }, 'rejected a call of Keycloak')
      return status
    }
    const client = realm.clients.find(({ client_id }) => client_id === bearer.client)
    const user = realm.users.find((listed) => listed.sub === sub)
    if (client === undefined || user === undefined)
      return rejected(`the ${client ? 'user' : 'client'} is not configured`, 403)
    const body = await bodyOf(request)
    if (body === undefined) return rejected('the body is too long', 413)
    const { login_hint, ...unsigned } = parseMembers(body) ?? {}
    const { binding_message: message = '-' } = unsigned
    if (login_hint !== user.login_hint) return rejected('login_hint is of another user')
    if (typeof message !== 'string' || !isDisplayValue(message))
      return rejected('binding_message is no text that a phone may show')
    if (!rows.seeOnce(`${realm.issuer} ${jti}`, exp)) return rejected('jti was used')
    const { client_id: owner, requester } = client
    const sign_in = { realm: realm.issuer, client: owner, user: login_hint }
    const args: SignIn = { sign_in, unsigned }
    try {
      // A process that is killed now leaves a request on the phone that has no effect.
      const given = { owner, subjectRef: user.subject_ref, requester, args }
      const { id } = await this.#approvals.request(given)
      const content = { bearer: token, owner, exp: String(exp), args: JSON.stringify(args) }
      rows.enterNotice(id, content, exp - now())
    } catch (error) {
      if (!(error instanceof GateError || error instanceof ApprovalError)) throw error
      const isOutage = error instanceof GateError && error.retryable
      return rejected(describeFailure(error), isOutage ? 503 : 400)
    }
    noticed()
    return 201
  }

  /** Reports the answer of a user to Keycloak. False if it has to be tried again. */
  async deliver(notice: Notice): Promise<boolean> {
    const { log } = this.#options
    const { approval: id, content } = notice
    const { owner = '', args = '' } = content
    const approval = { id, owner }
    if (this.#isOver(notice)) {
      await this.#approvals.withdraw(approval).catch(unlessStarted)
      return true
    }
    let status = await this.#approvals.status(approval)
    if (status === 'approved')
      try {
        const given = { ...approval, args: JSON.parse(args) as SignIn }
        await this.#approvals.execute(given, () => this.#succeed(notice))
        return true
      } catch (error) {
        if (error instanceof NotStarted) return false
        if (!(error instanceof ApprovalError)) throw error
        // A user can be blocked since the approval.
        status = error.code === 'not_approved' ? 'ended' : 'outcome_unknown'
      }
    if (status === 'outcome_unknown')
      log.error({ session: id }, 'Keycloak may not know of an approval')
    const answer = REJECTIONS[status]
    if (answer === undefined) return status !== 'waiting'
    // Final before it is sent: Keycloak would approve a request that was denied before.
    if (answer === 'CANCELLED') await this.#approvals.withdraw(approval)
    return (await this.#call(notice, answer)) === 'accepted'
  }

  /** Ends what Keycloak no longer waits for, and what a crash interrupted. Call it periodically. */
  async sweep(): Promise<void> {
    const { rows } = this.#options
    for (const notice of rows.dueNotices())
      if (this.#isOver(notice) && (await this.deliver(notice))) rows.removeNotice(notice.approval)
    // The user may have been signed in, and the phone says so when the same is asked again.
    await this.#approvals.reconcile(async () => 'done')
  }

  /** Keycloak accepts the bearer token no more. The notices of others have no such time. */
  #isOver({ content: { exp } }: Notice): boolean {
    return Number(exp) <= this.#options.now()
  }

  /** A second `SUCCEED` would cancel a request that the first one has approved. */
  async #succeed(notice: Notice): Promise<void> {
    const outcome = await this.#call(notice, 'SUCCEED')
    if (outcome === 'refused') throw new NotStarted('Keycloak did not accept the callback.')
    if (outcome === 'unknown') throw new Error('Keycloak may have accepted the callback.')
  }

  async #call(
    { approval: session, content }: Notice,
    status: Answer,
  ): Promise<'accepted' | 'refused' | 'unknown'> {
    const { realm, send, log } = this.#options
    const authorization = `Bearer ${content['bearer']}`
    const headers = { authorization, 'content-type': 'application/json' }
    const body = JSON.stringify({ status })
    const result = await send({ url: realm.callback, headers, body })
    const detail = 'error' in result ? result.error : result.status
    if (detail === 200) {
      log.info({ session, status }, 'reported an answer to Keycloak')
      return 'accepted'
    }
    log.warn({ session, status, detail }, 'an answer was not reported to Keycloak')
    return [...NOT_SENT, ...REFUSED].includes(detail) ? 'refused' : 'unknown'
  }
}

/** The body, unless it is too long. */
async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  let body = ''
  // The answer needs the connection.
  for await (const chunk of request.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    body += String(chunk)
    if (body.length > MAX_BODY_CHARS) return undefined
  }
  return body
}
