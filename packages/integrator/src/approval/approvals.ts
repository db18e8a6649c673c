import { encodeBase64url, hasEnded, isOwner } from '@bonded/contract'
import { bindingDigest } from '../binding-digest.ts'
import { GateError } from '../errors.ts'
import type { Service } from '../service/call.ts'
import { parseService, type ServiceOptions } from '../service/options.ts'
import { endSession } from '../service/sessions.ts'
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
import { type ApprovalProgress, type ApprovalStatus, STARTED } from './approval-status.ts'
import type { ApprovalState, ApprovalStore } from './approval-store.ts'
import { contextOf, type DescribedAction } from './approved-context.ts'
import { ApprovalError, NotStarted } from './errors.ts'
import { askService, complete, secretsOf } from './asked-sessions.ts'
import { hasShown, judge, progressOf, readSnapshot, type Rule } from './judge-approval.ts'
import { approversOf, haveOneInCommon } from './quorum.ts'
import { describeInEnglish, earlierOf } from './repeated-request.ts'

/** One action whose every run needs an approval. */
export interface ApprovalsOptions<Args extends object> extends DescribedAction<Args> {
  readonly service: ServiceOptions
  readonly store: ApprovalStore
  /** A workflow with `delivery: inbox` that has the action. */
  readonly workflow: string
  readonly policy?: Omit<GatePolicy, 'requireBrowser'>
  /**
   * Several people approve each action, at least this many of them: 2 to 5. An approval of one user
   * then runs nothing, whatever a request or a row of the store says.
   */
  readonly quorum?: { readonly minimum: number }
}

/** A repeated request says for this long that an earlier one was carried out. */
const KEPT_AFTER_EXPIRY_MS = 24 * 60 * 60_000
const FIRST_POLL_MS = 1_000
const LONGEST_POLL_MS = 10_000

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
  readonly #rule: Rule
  /** The requests that this process makes. */
  readonly #asking = new Set<string>()

  constructor(options: ApprovalsOptions<Args>) {
    checkOptions(options)
    this.#options = options
    this.#service = parseService(options.service)
    const { workflow, action, quorum, policy = {} } = options
    this.#rule = { workflow, action, minimum: quorum?.minimum, policy: parsePolicy(policy) }
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
    const { owner, requester, args, key } = request
    const { workflow, action, store } = this.#options
    if (!isOwner(owner)) throw new GateError('invalid_request', 'owner must be a non-empty string.')
    const now = this.#service.clock.now()
    const { approvers, asked, digest, lookup, equal, begun } = await this.#equal(request)
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
      const about = { workflow, action, context }
      const [{ id, ...of }, sessions] = await askService(this.#service, about, { approvers, ask })
      const { universal_link, expires_at, expires_in_ms: expiresInMs } = sessions[0]
      const inboxUrl = new URL('/inbox', universal_link).href
      const asks = { workflow, action, owner, requester, digest, inbox_url: inboxUrl }
      const data: Data = { ...asks, ...of, ...beginning }
      const times = { changed_at: now, expires_at: Date.parse(expires_at) }
      // If it fails, another process may have the same session, and a repetition continues it.
      await store.put({ id, data: JSON.stringify(data), lookup, state: 'waiting', ...times })
      // No caller knows the one that a process began. Once it has ended, this is a new request.
      const isOver = sessions.every(({ state }) => hasEnded(state))
      return found && isOver ? await this.request(request) : { id, inboxUrl, expiresInMs }
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
    request: ApprovalRequest<Args>,
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
      if (row.state === 'withdrawn' || (await this.#move(row, 'waiting', 'withdrawn'))) {
        for (const [id] of secretsOf(row)) await endSession(this.#service, id)
        return
      }
      rejectState(row.state)
    }
  }

  /**
   * The status at this moment.
   *
   * @throws {GateError} `retryable` while the service cannot be reached
   */
  async status(approval: ApprovalRef): Promise<ApprovalStatus> {
    return (await this.progress(approval)).state
  }

  /** The status with what belongs to it: how many people have approved, and why one declined. */
  async progress(approval: ApprovalRef): Promise<ApprovalProgress> {
    const row = await this.#find(approval)
    const needed = row.quorum?.needed ?? 1
    const nothing = { approved: 0, needed, note: null }
    if (row.state === 'withdrawn') return { ...nothing, state: 'ended' }
    if (row.state !== 'waiting') return { ...nothing, state: STARTED[row.state], approved: needed }
    try {
      return progressOf(this.#rule, row, await readSnapshot(this.#service, row))
    } catch (error) {
      if (error instanceof GateError && error.code === 'not_found')
        return { ...nothing, state: 'expired' }
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
   * the same owner that a process began without a key, and whose session it has not stored. The
   * digests have nothing of the id of a quorum, or each repeated call would ask again.
   */
  async #equal({ owner, args, requester, ...whom }: ApprovalRequest<Args>) {
    const { workflow, action, store } = this.#options
    const approvers = approversOf(whom, this.#rule.minimum)
    const { subject_ref, people } = approvers
    const { context } = await contextOf(this.#options, args, { requester })
    const { digest } = context
    const asked = await bindingDigest({ owner, ...approvers, context })
    // An equal request to some of the people is one that they read about.
    const of = people === undefined ? { subject_ref } : { quorum: true }
    const lookup = await bindingDigest({ workflow, action, ...of, digest })
    const stored = await store.withLookup(lookup)
    const rows = stored.map(parse).filter((row) => row !== undefined)
    const equal = rows.filter((row) => haveOneInCommon(row.quorum, people))
    const begun = begunOf(stored).filter(
      (one) =>
        one.asked === asked &&
        !this.#asking.has(one.ask) &&
        !equal.some(({ ask }) => ask === one.ask),
    )
    return { approvers, asked, digest, lookup, equal, begun }
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

  /** Until when the action may begin, by the clock of this process. */
  async #verify(row: Row, context: object): Promise<number> {
    // Before the call, whose duration must not extend the time.
    const startedAt = this.#service.clock.now()
    const snapshot = await readSnapshot(this.#service, row)
    const { reasons, approved } = judge(this.#rule, row, snapshot)
    // Not only the digest, but all that the user has read and signed.
    const isShown = reasons.length > 0 || hasShown(row, snapshot, context)
    const found = isShown ? reasons : (['context_mismatch'] as const)
    if (found.length > 0) {
      const message = `The user has not approved this: ${found.join(', ')}.`
      throw new ApprovalError('not_approved', message, { reasons: found })
    }
    const ends = snapshot.sessions
      .filter(({ id }) => approved.includes(id))
      .map(({ expires_at }) => Date.parse(expires_at) - snapshot.now)
    return startedAt + Math.min(...ends, VERDICT_TTL_MS)
  }

  /** Stores that the action has happened, also after a look-up that has found nothing of it. */
  async #happened(row: Row): Promise<void> {
    for (const from of ['running', 'unknown', 'failed'] as const)
      if (await this.#move(row, from, 'done')) return this.#complete(row)
  }

  /** `reconcile` repeats it where the service failed. */
  async #complete(row: Row): Promise<void> {
    const end = await complete(this.#service, this.#rule, row)
    if (end !== undefined) await this.#move(row, 'done', end)
  }
}
