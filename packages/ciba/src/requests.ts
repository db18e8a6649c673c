import { createHash } from 'node:crypto'
import { canonicalJson, describeFailure, isRetryableStatus, Secret } from '@bonded/contract'
import {
  ApprovalError,
  type Approvals,
  type ApprovalStatus,
  type ApprovalStore,
  createApprovals,
  NotStarted,
} from '@bonded/integrator/approval'
import {
  type AuthorizationDetail,
  errors,
  type KoaContextWithOIDC,
  type Provider,
} from 'oidc-provider'
import type { Logger } from 'pino'
import type { ApprovalType, CibaConfig } from './config.ts'
import { oauthError } from './oauth-error.ts'
import { openAnswer, readProof, sealAnswer } from './sealed-answer.ts'
import { ServiceClient } from './service-client.ts'
import type { SqliteRows } from './sqlite-rows.ts'
import { render } from './template.ts'

/** The `acr` of ID tokens: the user has approved one action, and has not signed in. */
export const APPROVAL_ACR = 'urn:bonded-sessions:acr:approval'

/** What the user approves, and what the phone shows all of. */
interface Args {
  readonly authorization_details: AuthorizationDetail
  readonly binding_message?: string
}

/** The parameters of a request, as the provider stores them. */
interface StoredParams {
  readonly authorization_details: string
  readonly binding_message?: string
  /** The id of the approval. */
  readonly approval?: string
}

type Request = InstanceType<Provider['BackchannelAuthenticationRequest']>

/** How often the provider asks the service about one request. */
const POLL_PAUSE_S = 1
/** A token may be on its way just before its request expires. */
const GRACE_S = 30
/** How long a request is answered with `expired_token`. */
const EXPIRED_KEPT_S = 3_600
/** The proof of a key is fresh for at most so long, and good for one poll. */
const PROOF_KEPT_S = 600

const REJECTIONS: Readonly<Record<Exclude<ApprovalStatus, 'waiting' | 'approved'>, () => Error>> = {
  declined: () => new errors.AccessDenied('the user declined'),
  reported: () => new errors.AccessDenied('the user reported that the request is not theirs'),
  review: () => new errors.AccessDenied('the approval needs a review'),
  ended: () => new errors.AccessDenied('the request was ended'),
  expired: () => new errors.ExpiredToken('the request has expired'),
  executed: () => new errors.InvalidGrant('the request has given its token'),
  outcome_unknown: () => new errors.InvalidGrant('the request may have given its token'),
}

/** The user can answer, or has approved. */
const OPEN: ReadonlySet<ApprovalStatus> = new Set(['waiting', 'approved'])

export interface RequestsOptions {
  readonly config: CibaConfig
  readonly credential: string
  readonly store: ApprovalStore
  readonly rows: SqliteRows
  readonly log: Logger
  /** Called when a notice waits for the user of a request. */
  readonly noticed: () => void
  /** Seconds since the epoch. */
  readonly now: () => number
}

/** The requests of clients, each with an approval of the service. */
export class Requests {
  readonly #options: RequestsOptions
  readonly #approvals: ReadonlyMap<string, Approvals<Args>>
  readonly #service: ServiceClient
  readonly #asked = new Map<string, number>()
  /** What clients ask at this moment. */
  readonly #asking: string[] = []

  /** @throws {GateError} `invalid_configuration` */
  constructor(options: RequestsOptions) {
    const { config, credential, store } = options
    const { service, types, message_label } = config
    this.#options = options
    this.#approvals = new Map(
      types.map((type) => [
        type.type,
        createApprovals<Args>({
          service: { baseUrl: service, serverCredential: credential, fetch: this.#fetch },
          store,
          workflow: type.workflow,
          action: type.action,
          version: type.version,
          describe: (args) => describe(type, message_label, args),
        }),
      ]),
    )
    this.#service = new ServiceClient(service, new Secret(credential))
  }

  /** Asks the user of a request. */
  async ask(ctx: KoaContextWithOIDC, request: Request): Promise<void> {
    const { clientId, accountId = '' } = request
    const client = this.#options.config.clients.find(({ client_id }) => client_id === clientId)
    let lost: (() => Promise<void>) | undefined
    const asking = canonicalJson([clientId, accountId, paramsOf(request).authorization_details])
    const isAlone = !this.#asking.includes(asking)
    this.#asking.push(asking)
    try {
      if (client === undefined) throw new errors.InvalidClient('unknown client')
      const params = paramsOf(request)
      const args = argsOf(params)
      const approvals = this.#of(args)
      const owner = client.client_id
      const given = { owner, subjectRef: accountId, requester: client.requester, args }
      await this.#service.requireReceipts()
      // A process that was killed can leave a request on the phone whose id no client got.
      const left = isAlone ? await approvals.latest(given) : undefined
      const isLeft = left && OPEN.has(left.status) && !this.#options.rows.hasRequest(left.id)
      const { id, expiresInMs } = isLeft ? left : await approvals.request(given)
      lost = () => approvals.withdraw({ id, owner })
      request.params = { ...params, approval: id }
      // The client does not wait for longer than the user can answer.
      const seconds = Math.min(request.expiration, Math.floor(expiresInMs / 1_000))
      request.exp = this.#options.now() + seconds
      // First: a process that is killed now leaves a notice of a request that no client knows.
      const isNotified = client.notification_endpoint !== undefined
      if (isNotified) this.#options.rows.enterNotice(id, { auth_req_id: request.jti }, seconds)
      await request.save()
      if (isNotified) this.#options.noticed()
      ctx.body = { ...(ctx.body as object), expires_in: seconds }
    } catch (error) {
      // Nothing could use what the user approves.
      await lost?.().catch(() => {})
      await request.destroy()
      throw this.#oauthError(error, new errors.TemporarilyUnavailable('try again later'))
    } finally {
      this.#asking.splice(this.#asking.indexOf(asking), 1)
    }
  }

  /** Answers a poll. `issue` is the provider's own answer, which issues a token once. */
  async answer(ctx: KoaContextWithOIDC, issue: () => Promise<void>): Promise<void> {
    const { client, params, provider } = ctx.oidc
    const id = params?.['auth_req_id']
    const request =
      typeof id === 'string'
        ? await provider.BackchannelAuthenticationRequest.find(id, { ignoreExpiration: true })
        : undefined
    // The provider itself rejects what is unknown, of another client, expired, or used.
    if (request === undefined || request.clientId !== client?.clientId) return issue()
    const { approval, ...stored } = paramsOf(request)
    const answer = approval && this.#options.rows.answerOf(approval)
    if (approval === undefined || (answer === undefined && request.isExpired)) return issue()
    this.#slowDown(request.jti)
    const args = argsOf(stored)
    rejectOthers(params?.['authorization_details'], args)
    if (![undefined, request.resource].includes(params?.['resource'] as string | undefined))
      throw new errors.InvalidTarget()
    if (answer !== undefined) return this.#repeat(ctx, request, answer, issue)
    const approvals = this.#of(args)
    const ref = { id: approval, owner: request.clientId as string }
    try {
      const status = await approvals.status(ref)
      // Another poll issues the token at this moment, or the sweep is about to end it.
      const isIssuing = status === 'outcome_unknown'
      if (status === 'waiting' || isIssuing) throw new errors.AuthorizationPending()
      if (request.consumed !== undefined) return await issue()
      // The provider's own answer would be a token, where an earlier call of it has failed.
      if (status !== 'approved') throw REJECTIONS[status]()
      await approvals.execute({ ...ref, args }, () => this.#issue(ctx, request, approval, issue))
    } catch (error) {
      throw this.#oauthError(error, new errors.AuthorizationPending())
    }
    this.#options.log.info({ client: request.clientId, session: approval }, 'issued a token')
  }

  /** Ends what has expired, and repeats what a crash has interrupted. Call it periodically. */
  async sweep(): Promise<void> {
    const { rows, now, log } = this.#options
    for (const [id, at] of this.#asked) if (at < now() - POLL_PAUSE_S) this.#asked.delete(id)
    for (const request of rows.expiredRequests(now() - GRACE_S)) {
      const { approval: id, ...stored } = paramsOf(request.payload)
      const owner = String(request.payload.clientId)
      if (id !== undefined)
        await this.#approvals.get(typeOf(stored))?.withdraw({ id, owner }).catch(unlessStarted)
      rows.end(request)
    }
    rows.removeExpired(now() - EXPIRED_KEPT_S)
    for (const approvals of this.#approvals.values())
      await approvals.reconcile(async ({ id }) => {
        // A process that stood still finds this entry, and issues no token.
        const isVoid = rows.enterAnswer(id, '') === ''
        log.warn({ session: id, issued: !isVoid }, 'a process ended while it issued a token')
        return isVoid ? 'failed' : 'done'
      })
  }

  /** The library returns `waiting` for a session that it cannot read, without the cause. */
  readonly #fetch = async (url: string, init: RequestInit): Promise<Response> => {
    const isRead = init.method === 'GET'
    try {
      const response = await fetch(url, init)
      const { status } = response
      if (isRead && isRetryableStatus(status)) this.#logOutage(`The service answered ${status}.`)
      return response
    } catch (failure) {
      if (isRead) this.#logOutage(failure)
      throw failure
    }
  }

  /** The error for the client has no cause of an outage, so the log has it. */
  #oauthError(failure: unknown, whenUnavailable: Error): unknown {
    return oauthError(failure, () => {
      this.#logOutage(failure)
      return whenUnavailable
    })
  }

  #logOutage(failure: unknown): void {
    this.#options.log.warn({ detail: describeFailure(failure) }, 'the service is unavailable')
  }

  #of(args: Args): Approvals<Args> {
    const approvals = this.#approvals.get(args.authorization_details.type)
    if (approvals !== undefined) return approvals
    throw new errors.InvalidAuthorizationDetails('the type is not configured')
  }

  async #issue(
    ctx: KoaContextWithOIDC,
    request: Request,
    approval: string,
    issue: () => Promise<void>,
  ): Promise<void> {
    const { provider } = ctx.oidc
    const { clientId, accountId } = request
    try {
      const receipt = await this.#service.receipt(approval)
      ctx.state['approval'] = {
        session_id: approval,
        receipt_sha256: createHash('sha256').update(receipt).digest('base64url'),
      }
      const grant = new provider.Grant({ clientId, accountId })
      grant.addOIDCScope('openid')
      await grant.save()
      const { authorization_details } = argsOf(paramsOf(request))
      const rar = [authorization_details]
      // `backchannelResult` would notify a client in ping mode now, which it was before it asked.
      Object.assign(request, { grantId: grant.jti, acr: APPROVAL_ACR, rar })
      await request.save()
      await issue()
      const { scope: _none, ...tokens } = ctx.body as Record<string, unknown>
      // The service returns another one once the session is completed.
      const body = { ...tokens, receipt }
      // The answer can get lost on its way, and the phone shows that the request is complete.
      const expiresAt = this.#options.now() + Number(tokens['expires_in'])
      const jkt = String(ctx.oidc.entities.AccessToken?.jkt)
      const sealed = sealAnswer({ body, expiresAt }, { authReqId: request.jti, jkt })
      // The id of the request opens the answer, so the file never has both.
      this.#options.rows.removeNotice(approval)
      if (this.#options.rows.enterAnswer(approval, sealed) !== sealed)
        throw new Error('The approval was ended before its token was issued.')
      ctx.body = body
    } catch (cause) {
      // No token has left this process.
      throw new NotStarted('No token was issued.', { cause })
    }
  }

  /** Gives the same token again to a poll by the same key, while the token lives. */
  async #repeat(
    ctx: KoaContextWithOIDC,
    { jti: authReqId, clientId = '' }: Request,
    sealed: string,
    issue: () => Promise<void>,
  ): Promise<void> {
    if (sealed === '') throw REJECTIONS.outcome_unknown()
    try {
      // The provider verifies the proof of the key first, and then finds that the request is used.
      return await issue()
    } catch (error) {
      const isUsed = error instanceof errors.InvalidGrant || error instanceof errors.ExpiredToken
      const proof = ctx.get('DPoP')
      if (!isUsed || proof === '') throw error
      const now = this.#options.now()
      const { jti, jkt } = readProof(proof)
      const { ReplayDetection } = ctx.oidc.provider
      const answer = openAnswer(sealed, { authReqId, jkt })
      if (answer === undefined || answer.expiresAt <= now) throw error
      if (!(await ReplayDetection.unique(clientId, jti, now + PROOF_KEPT_S))) throw error
      ctx.body = { ...answer.body, expires_in: answer.expiresAt - now }
    }
  }

  /** A client that polls more often would use up the rate limit of the tenant. */
  #slowDown(id: string): void {
    const { now } = this.#options
    const last = this.#asked.get(id) ?? 0
    this.#asked.set(id, now())
    if (now() - last < POLL_PAUSE_S) throw new errors.SlowDown()
  }
}

function describe(
  { display }: ApprovalType,
  message_label: string,
  { authorization_details, binding_message }: Args,
) {
  const pairs = display.map(({ label, value }) => ({
    label,
    value: render(value, authorization_details),
  }))
  return binding_message === undefined
    ? pairs
    : [...pairs, { label: message_label, value: binding_message }]
}

/** An action that was started cannot be withdrawn: its token is issued, or it is reconciled. */
export function unlessStarted(error: unknown): void {
  if (!(error instanceof ApprovalError)) throw error
}

/** The provider stores what this class has put there, without a type. */
function paramsOf({ params }: { readonly params?: unknown }): StoredParams {
  return params as StoredParams
}

function argsOf({ authorization_details, binding_message }: StoredParams): Args {
  const [details] = JSON.parse(authorization_details) as [AuthorizationDetail]
  return {
    authorization_details: details,
    ...(binding_message !== undefined && { binding_message }),
  }
}

function typeOf(params: StoredParams): string {
  return argsOf(params).authorization_details.type
}

/** A token is for what the user has approved: a client cannot ask for other details with it. */
function rejectOthers(given: unknown, { authorization_details }: Args): void {
  if (given === undefined) return
  const isSame = canonicalJson(JSON.parse(String(given))) === canonicalJson([authorization_details])
  if (!isSame) throw new errors.InvalidAuthorizationDetails('the user approved other details')
}
