import {
  canonicalJson,
  encodeBase64url,
  type FullSession,
  type GateVerdict,
  hasEnded,
  isOwner,
  judgeSubmit,
  Secret,
} from '@bonded/contract'
import { bindingDigest } from '../binding-digest.ts'
import { GateError, type GateErrorCode } from '../errors.ts'
import type { Service } from '../service/call.ts'
import { parseService, type ServiceOptions } from '../service/options.ts'
import { completeSession, createSession, endSession, getSession } from '../service/sessions.ts'
import type { GatePolicy } from '../verbs/dependencies.ts'
import { parsePolicy } from '../verbs/gate-policy.ts'
import { VERDICT_TTL_MS } from '../verbs/issued-verdicts.ts'
import { abortOf } from './abort.ts'
import { checkOptions } from './approval-options.ts'
import {
  type ApprovalRef,
  type ApprovalRequest,
  begin,
  beginningOf,
  begunOf,
  type Data,
  type OpenedRequest,
  openedOf,
  parse,
  rejectState,
  RENEWAL_MS,
  type Row,
  type UnknownOutcome,
  unknownOutcome,
  unknownOf,
} from './approval-row.ts'
import { type ApprovalStatus, STARTED } from './approval-status.ts'
import type { ApprovalState, ApprovalStore } from './approval-store.ts'
import { contextOf, type DescribedAction } from './approved-context.ts'
import { ApprovalError, NotStarted } from './errors.ts'
import { describeInEnglish, earlierOf } from './repeated-request.ts'

/** One action whose every run needs an approval. */
export interface ApprovalsOptions<Args extends object> extends DescribedAction<Args> {
  readonly service: ServiceOptions
  readonly store: ApprovalStore
  /** A workflow with `delivery: inbox` that has the action. */
  readonly workflow: string
  readonly policy?: Omit<GatePolicy, 'requireBrowser'>
}

/** A repeated request says for this long that an earlier one was carried out. */
const KEPT_AFTER_EXPIRY_MS = 24 * 60 * 60_000
const FIRST_POLL_MS = 1_000
const LONGEST_POLL_MS = 10_000
const DECIDED = { accept: 'approved', review: 'review', reject: 'ended' } as const
/** The service does not complete the session, now or later. */
const FINAL: readonly GateErrorCode[] = ['not_found', 'invalid_request']

/**
 * Approvals of one action, by users who are not in front of a page of yours.
 *
 * @throws {GateError} `invalid_configuration`, before any call
 * @example
 * const approvals = createApprovals({ service, store, workflow, action, version: '1', describe })
 * const { id } = await approvals.request({ owner, subjectRef, requester, args })
 * if ((await approvals.wait({ id, owner })) === 'approved')
 *   await approvals.execute({ id, owner, args }, async (approved) => transfer(approved))
 */
export function createApprovals<Args extends object>(
  options: ApprovalsOptions<Args>,
): Approvals<Args> {
  return new Approvals(options)
}

/** See {@link createApprovals}. Every method may be called by many requests at once. */
export class Approvals<Args extends object> {
  readonly #options: ApprovalsOptions<Args>
  readonly #service: Service
  readonly #policy: GatePolicy
  /** The requests that this process makes. */
  readonly #asking = new Set<string>()

  constructor(options: ApprovalsOptions<Args>) {
    checkOptions(options)
    this.#options = options
    this.#service = parseService(options.service)
    this.#policy = parsePolicy(options.policy ?? {})
  }

  get action(): string {
    return this.#options.action
  }

  /**
   * Asks the user. `inboxUrl` is the same for every request and opens none: send it to the user.
   * The user can answer for `expiresInMs`.
   *
   * @throws {GateError} the service's rejection, for example `inbox_full` or `inbox_paused`
   */
  async request(request: ApprovalRequest<Args>): Promise<OpenedRequest> {
    const { owner, subjectRef: subject_ref, requester, args, key } = request
    const { workflow, action, store } = this.#options
    if (!isOwner(owner)) throw new GateError('invalid_request', 'owner must be a non-empty string.')
    const now = this.#service.clock.now()
    const { asked, digest, lookup, equal, begun } = await this.#equal(request)
    const same = key !== undefined && equal.find((row) => row.asked === asked && row.key === key)
    if (same) return openedOf(same, now)
    const earlier = earlierOf(equal, now)
    // What ran after the other one began is not in its context.
    const since = now - (earlier?.agoMs ?? Infinity)
    const found = key === undefined ? begun.find(({ at }) => at > since) : undefined
    const repeats = earlier && (this.#options.describeRepeat ?? describeInEnglish)(earlier)
    const ask =
      found?.ask ??
      (key === undefined
        ? encodeBase64url(this.#service.random(24))
        : await bindingDigest({ lookup, asked, key }))
    this.#asking.add(ask)
    const begunNow = begin({ asked, ask, key, repeats }, { lookup, now })
    try {
      await store.put(begunNow)
      // Another call can have begun it before, when there was something else to say.
      const beginning = beginningOf((await store.find(begunNow.id)) ?? begunNow)
      const { context } = await contextOf(this.#options, args, { requester, ...beginning })
      const created = await createSession(
        this.#service,
        { workflow, action, subject_ref, context },
        ask,
      )
      const { id, completion_secret, state, expires_at, expires_in_ms: expiresInMs } = created
      const inboxUrl = new URL('/inbox', created.universal_link).href
      const of = { workflow, action, owner, subject_ref, requester, digest, completion_secret }
      const data: Data = { ...of, inbox_url: inboxUrl, ...beginning }
      const times = { changed_at: now, expires_at: Date.parse(expires_at) }
      // If it fails, another process may have the same session, and a repetition continues it.
      await store.put({ id, data: JSON.stringify(data), lookup, state: 'waiting', ...times })
      // No caller knows the one that a process began. Once it has ended, this is a new request.
      return found && hasEnded(state) ? await this.request(request) : { id, inboxUrl, expiresInMs }
    } catch (error) {
      // It has no session. When it is repeated, the phone may have something else to say.
      if (error instanceof GateError && (!error.retryable || error.reason === 'inbox_full'))
        await store.remove(begunNow.id).catch(() => {})
      throw error
    } finally {
      this.#asking.delete(ask)
    }
  }

  /** The newest request of this owner, user and arguments in the store, also if it has ended. */
  async latest(
    request: Omit<ApprovalRequest<Args>, 'key'>,
  ): Promise<(OpenedRequest & { readonly status: ApprovalStatus }) | undefined> {
    const { asked, equal } = await this.#equal(request)
    const row = equal.find((each) => each.asked === asked)
    if (row === undefined) return undefined
    return { ...openedOf(row, this.#service.clock.now()), status: await this.status(row) }
  }

  /**
   * Ends a request before its action runs. Repeat it after an error that is `retryable`: the action
   * runs no more, and the phone may still show the request.
   *
   * @throws {ApprovalError} `outcome_unknown` or `already_executed`: the action was started before
   */
  async withdraw(approval: ApprovalRef): Promise<void> {
    for (;;) {
      const row = await this.#find(approval)
      // The row first: a session that has ended stops no action that runs.
      if (row.state === 'withdrawn' || (await this.#move(row, 'waiting', 'withdrawn')))
        return endSession(this.#service, row.id)
      rejectState(row.state)
    }
  }

  /**
   * The status at this moment.
   *
   * @throws {GateError} `retryable` while the service cannot be reached
   */
  async status(approval: ApprovalRef): Promise<ApprovalStatus> {
    const row = await this.#find(approval)
    if (row.state !== 'waiting') return STARTED[row.state]
    try {
      return this.#statusOf(row, await getSession(this.#service, row.id))
    } catch (error) {
      if (error instanceof GateError && error.code === 'not_found') return 'expired'
      throw error
    }
  }

  /**
   * Resolves when the user has answered, or no longer can.
   *
   * @throws {GateError} `retryable` if the service cannot be reached after that time either
   */
  async wait(
    approval: ApprovalRef,
    { signal }: { readonly signal?: AbortSignal } = {},
  ): Promise<Exclude<ApprovalStatus, 'waiting'>> {
    const { aborted, end } = abortOf(signal)
    const { clock } = this.#service
    try {
      const { expires_at } = await Promise.race([aborted, this.#find(approval)])
      const waits = (error: unknown): 'waiting' => {
        if (error instanceof GateError && error.retryable && clock.now() < expires_at)
          return 'waiting'
        throw error
      }
      for (let pauseMs = FIRST_POLL_MS; ; pauseMs = Math.min(pauseMs * 1.5, LONGEST_POLL_MS)) {
        const status = await Promise.race([aborted, this.status(approval).catch(waits)])
        if (status !== 'waiting') return status
        await Promise.race([aborted, clock.sleep(pauseMs)])
      }
    } finally {
      end()
    }
  }

  /**
   * Calls `run` if the user has approved these arguments, at most once. `run` receives the approved
   * arguments, frozen, and the id, by which your other systems can recognize the action.
   *
   * @throws {ApprovalError} `not_approved`: nothing ran. `outcome_unknown`: see {@link reconcile}
   * @throws {NotStarted} nothing ran, and the approval can be executed again
   */
  async execute<T>(
    { args, ...approval }: ApprovalRef & { readonly args: Args },
    run: (approved: Readonly<Args>, execution: { readonly id: string }) => Promise<T>,
  ): Promise<T> {
    const row = await this.#find(approval)
    rejectState(row.state)
    const { approved, context } = await contextOf(this.#options, args, row)
    const until = await this.#verify(row, context)
    if (!(await this.#move(row, 'waiting', 'running'))) {
      rejectState((await this.#find(approval)).state)
      // After a call that was not started, the row waits again, but this call does not have it.
      throw unknownOutcome('Another call executes this approval.')
    }
    // Another process then does not take this one for dead. After a failure, the next one renews.
    const renewal = setInterval(
      () => void this.#move(row, 'running', 'running').catch(() => {}),
      RENEWAL_MS,
    )
    let result
    try {
      if (this.#service.clock.now() >= until) throw new NotStarted('The check took too long.')
      result = await run(approved, { id: row.id })
    } catch (error) {
      const to = error instanceof NotStarted ? 'waiting' : 'unknown'
      // The row stays `running` if this fails, which also is an unknown outcome.
      await this.#move(row, 'running', to).catch(() => {})
      throw to === 'waiting' ? error : unknownOutcome('The action threw.', error)
    } finally {
      clearInterval(renewal)
    }
    // The action has happened: its result is the answer, even if its end cannot be stored.
    await this.#happened(row).catch(() => {})
    return result
  }

  /**
   * Returns the actions whose outcome is unknown, but none that a process runs at this moment.
   * `decide` says which of them are `done` and which `failed`; `unknown` leaves one in the list.
   * None runs again. Also repeats the completion of actions that are done, and deletes expired
   * rows. Call it at the start and every minute.
   *
   * A process that stands still can go on later. So before `failed`, make sure that the action can
   * never happen: write that it is void under its id where the action writes too, and let the
   * action refuse to run then. Where you cannot, answer `unknown`.
   */
  async reconcile(
    decide?: (unknown: UnknownOutcome) => Promise<'done' | 'failed' | 'unknown' | undefined>,
  ): Promise<readonly UnknownOutcome[]> {
    const { store } = this.#options
    const list: UnknownOutcome[] = []
    for (const row of (await store.unfinished()).map(parse)) {
      if (row === undefined || !this.#isOurs(row)) continue
      const unknown = unknownOf(row, this.#service.clock.now())
      const answer = unknown && (await decide?.(unknown))
      if (row.state === 'done') await this.#complete(row)
      else if (answer === 'done') await this.#happened(row)
      // It waits if it was not started after all. What is void must not be offered again.
      else if (answer === 'failed')
        for (const from of [row.state, 'waiting'] as const) await this.#move(row, from, answer)
      else if (unknown !== undefined) list.push(unknown)
    }
    await store.removeExpired(this.#service.clock.now() - KEPT_AFTER_EXPIRY_MS)
    return list
  }

  /**
   * What was asked, the stored requests of the same user and action by any caller, and those of
   * the same owner that a process began without a key, and whose session it has not stored.
   */
  async #equal({ owner, subjectRef: subject_ref, args, requester }: ApprovalRequest<Args>) {
    const { workflow, action, store } = this.#options
    const { context } = await contextOf(this.#options, args, { requester })
    const { digest } = context
    const asked = await bindingDigest({ owner, subject_ref, context })
    const lookup = await bindingDigest({ workflow, action, subject_ref, digest })
    const stored = await store.withLookup(lookup)
    const equal = stored.map(parse).filter((row) => row !== undefined)
    const begun = begunOf(stored).filter(
      (one) =>
        one.asked === asked &&
        !this.#asking.has(one.ask) &&
        !equal.some(({ ask }) => ask === one.ask),
    )
    return { asked, digest, lookup, equal, begun }
  }

  #isOurs({ workflow, action }: Data): boolean {
    return workflow === this.#options.workflow && action === this.#options.action
  }

  #move({ id }: Row, from: ApprovalState, to: ApprovalState): Promise<boolean> {
    return this.#options.store.move(id, from, to, this.#service.clock.now())
  }

  async #find({ id, owner }: ApprovalRef): Promise<Row> {
    const stored = typeof id === 'string' ? await this.#options.store.find(id) : undefined
    const row = stored && parse(stored)
    if (row === undefined || !isOwner(owner) || row.owner !== owner || !this.#isOurs(row))
      throw new ApprovalError('approval_unknown', 'The store has no such approval of this owner.')
    return row
  }

  #judge(row: Row, session: FullSession): GateVerdict {
    const { workflow, action } = this.#options
    const { tenant_id, passport = {} } = this.#policy
    const rule = Object.hasOwn(passport, workflow) ? passport[workflow] : undefined
    return judgeSubmit({
      session_id: row.id,
      owner: row.owner,
      pending: row,
      session,
      expected: {
        workflow,
        action,
        subject_ref: row.subject_ref,
        context_digest: row.digest,
        ...(rule !== undefined && { passport: rule }),
        ...(tenant_id !== undefined && { tenant_id }),
      },
      now: Date.parse(session.server_time),
    })
  }

  /** Until when the action may begin, by the clock of this process. */
  async #verify(row: Row, context: object): Promise<number> {
    // Before the call, whose duration must not extend the time.
    const startedAt = this.#service.clock.now()
    const session = await getSession(this.#service, row.id)
    const { decision, reasons } = this.#judge(row, session)
    // Not only the digest, but all that the user has read and signed.
    const isShown = canonicalJson(session.context) === canonicalJson(context)
    const found = decision === 'accept' && !isShown ? (['context_mismatch'] as const) : reasons
    if (found.length > 0) {
      const message = `The user has not approved this: ${found.join(', ')}.`
      throw new ApprovalError('not_approved', message, { reasons: found })
    }
    const leftMs = Date.parse(session.expires_at) - Date.parse(session.server_time)
    return startedAt + Math.min(leftMs, VERDICT_TTL_MS)
  }

  #statusOf(row: Row, session: FullSession): ApprovalStatus {
    const { state, ended_reason } = session
    if (state === 'pending' || state === 'step_up_required') return 'waiting'
    if (state === 'expired') return 'expired'
    if (state === 'completed') return 'executed'
    if (ended_reason === 'user_declined') return 'declined'
    if (ended_reason === 'user_unexpected') return 'reported'
    return DECIDED[this.#judge(row, session).decision]
  }

  /** Stores that the action has happened, also after a look-up that has found nothing of it. */
  async #happened(row: Row): Promise<void> {
    for (const from of ['running', 'unknown', 'failed'] as const)
      if (await this.#move(row, from, 'done')) return this.#complete(row)
  }

  /** Shows the user that the action is done. `reconcile` repeats it where the service failed. */
  async #complete(row: Row): Promise<void> {
    try {
      await completeSession(this.#service, {
        session_id: row.id,
        completion_secret: new Secret(row.completion_secret),
        context_digest: row.digest,
        outcome: 'accepted',
      })
    } catch (error) {
      if (error instanceof GateError && FINAL.includes(error.code))
        await this.#move(row, 'done', error.reportedAt ? 'reported_late' : 'unreported')
      return
    }
    await this.#move(row, 'done', 'completed')
  }
}
