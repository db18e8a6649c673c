import {
  canonicalJson,
  encodeBase64url,
  type FullSession,
  type GateVerdict,
  isOwner,
  judgeSubmit,
  parseId,
  Secret,
  type SessionId,
} from '@bonded/contract'
import { bindingDigest } from '../binding-digest.ts'
import { GateError, type GateErrorCode } from '../errors.ts'
import { ROW_KEPT_AFTER_EXPIRY_MS } from '../pending/pending-store.ts'
import type { Service } from '../service/call.ts'
import { parseService, type ServiceOptions } from '../service/options.ts'
import { completeSession, createSession, endSession, getSession } from '../service/sessions.ts'
import type { GatePolicy } from '../verbs/dependencies.ts'
import { parsePolicy, rejectUnknownMembers } from '../verbs/gate-policy.ts'
import { VERDICT_TTL_MS } from '../verbs/issued-verdicts.ts'
import type { ApprovalState, ApprovalStore, StoredApproval } from './approval-store.ts'
import { contextOf, type DescribedAction, type Requester } from './approved-context.ts'
import { ApprovalError, NotStarted } from './errors.ts'

/** One action whose every run needs an approval. */
export interface ApprovalsOptions<Args extends object> extends DescribedAction<Args> {
  readonly service: ServiceOptions
  readonly store: ApprovalStore
  /** A workflow with `delivery: inbox` that has the action. */
  readonly workflow: string
  readonly policy?: Omit<GatePolicy, 'requireBrowser'>
}

const OPTIONS = ['service', 'store', 'workflow', 'action', 'version', 'describe', 'policy']

export interface ApprovalRequest<Args extends object> {
  /** Who asks, from your own sign-in or configuration. Only the same owner can use the approval. */
  readonly owner: string
  /** The user's `subject_ref` of an earlier bond. */
  readonly subjectRef: string
  readonly requester: Requester
  readonly args: Args
  /** Repeating a request with the same key and arguments returns the same approval. */
  readonly key?: string
}

/** An approval, and who asked for it. */
export interface ApprovalRef {
  readonly id: string
  readonly owner: string
}

/**
 * What has become of a request. `executed` and `outcome_unknown` are of an action that was started.
 * `ended` is any other end: `execute` throws its reasons.
 */
export type ApprovalStatus =
  | 'waiting'
  | 'approved'
  | 'review'
  | 'declined'
  | 'reported'
  | 'expired'
  | 'executed'
  | 'outcome_unknown'
  | 'ended'

/** An action whose outcome is unknown. */
export interface UnknownOutcome extends ApprovalRef {
  /** `running`: it runs, or its process has ended. `unknown`: it threw. */
  readonly state: 'running' | 'unknown'
  readonly subjectRef: string
  readonly digest: string
  /** When it began or threw, in milliseconds since the epoch. */
  readonly since: number
}

/** What never changes about an approval: the `data` of its row. */
interface Data {
  readonly workflow: string
  readonly action: string
  readonly owner: string
  readonly subject_ref: string
  readonly requester: Requester
  readonly digest: string
  readonly completion_secret: string
  readonly inbox_url: string
}

interface Row extends Data {
  readonly id: SessionId
  readonly state: ApprovalState
  readonly changed_at: number
}

const FIRST_POLL_MS = 1_000
const LONGEST_POLL_MS = 10_000
const STARTED = {
  running: 'outcome_unknown',
  unknown: 'outcome_unknown',
  done: 'executed',
  completed: 'executed',
  failed: 'ended',
} as const
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

  constructor(options: ApprovalsOptions<Args>) {
    rejectUnknownMembers(options, OPTIONS)
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
  async request(
    request: ApprovalRequest<Args>,
  ): Promise<{ id: string; inboxUrl: string; expiresInMs: number }> {
    const { owner, subjectRef: subject_ref, requester, args, key } = request
    const { workflow, action, store } = this.#options
    if (!isOwner(owner)) throw new GateError('invalid_request', 'owner must be a non-empty string.')
    const { context } = await contextOf(this.#options, args, requester)
    const { digest } = context
    const created = await createSession(
      this.#service,
      { workflow, action, subject_ref, context },
      key === undefined
        ? encodeBase64url(this.#service.random(24))
        : await bindingDigest({ owner, subject_ref, context, key }),
    )
    const { id, completion_secret, expires_at, expires_in_ms: expiresInMs } = created
    const inbox_url = new URL('/inbox', created.universal_link).href
    const of = { workflow, action, owner, subject_ref, requester, digest, completion_secret }
    const row = {
      id,
      data: JSON.stringify({ ...of, inbox_url } satisfies Data),
      lookup: await this.#lookup(request, context),
      state: 'waiting',
      changed_at: this.#service.clock.now(),
      expires_at: Date.parse(expires_at),
    } as const
    try {
      await store.put(row)
    } catch (error) {
      // With a key, another process may have stored it, and a repetition does.
      if (key === undefined) await endSession(this.#service, id)
      throw error
    }
    return { id, inboxUrl: inbox_url, expiresInMs }
  }

  /** The newest request of this owner, user and arguments in the store, also if it has ended. */
  async latest(
    request: Omit<ApprovalRequest<Args>, 'key'>,
  ): Promise<{ id: string; inboxUrl: string; status: ApprovalStatus } | undefined> {
    const { context } = await contextOf(this.#options, request.args, request.requester)
    const stored = await this.#options.store.latest(await this.#lookup(request, context))
    const row = stored && parse(stored)
    if (row === undefined) return undefined
    return { id: row.id, inboxUrl: row.inbox_url, status: await this.status(row) }
  }

  /** The status at this moment. `waiting` also while the service cannot be reached. */
  async status(approval: ApprovalRef): Promise<ApprovalStatus> {
    const row = await this.#find(approval)
    if (row.state !== 'waiting') return STARTED[row.state]
    try {
      return this.#statusOf(row, await getSession(this.#service, row.id))
    } catch (error) {
      if (!(error instanceof GateError)) throw error
      if (error.retryable) return 'waiting'
      if (error.code === 'not_found') return 'expired'
      throw error
    }
  }

  /** Resolves when the user has answered, or no longer can. */
  async wait(
    approval: ApprovalRef,
    { signal }: { readonly signal?: AbortSignal } = {},
  ): Promise<Exclude<ApprovalStatus, 'waiting'>> {
    const { aborted, end } = abortOf(signal)
    try {
      for (let pauseMs = FIRST_POLL_MS; ; pauseMs = Math.min(pauseMs * 1.5, LONGEST_POLL_MS)) {
        const status = await Promise.race([aborted, this.status(approval)])
        if (status !== 'waiting') return status
        await Promise.race([aborted, this.#service.clock.sleep(pauseMs)])
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
    const { approved, context } = await contextOf(this.#options, args, row.requester)
    const until = await this.#verify(row, context)
    // Another call can have won, and even have ended: what it did is not known here.
    if (!(await this.#move(row, 'waiting', 'running')))
      throw unknownOutcome('Another call executes this approval.')
    let result
    try {
      if (this.#service.clock.now() >= until) throw new NotStarted('The check took too long.')
      result = await run(approved, { id: row.id })
    } catch (error) {
      const to = error instanceof NotStarted ? 'waiting' : 'unknown'
      // The row stays `running` if this fails, which also is an unknown outcome.
      await this.#move(row, 'running', to).catch(() => {})
      throw to === 'waiting' ? error : unknownOutcome('The action threw.', error)
    }
    // The action has happened: its result is the answer, even if its end cannot be stored.
    const isStored = await this.#move(row, 'running', 'done').catch(() => false)
    if (isStored) await this.#complete(row).catch(() => {})
    return result
  }

  /**
   * Returns the actions whose outcome is unknown. `decide` says which of them are `done` and which
   * `failed`; undefined leaves one in the list. None runs again. Also repeats the completion of
   * actions that are done, and deletes expired rows. Call it at the start and periodically.
   */
  async reconcile(
    decide?: (unknown: UnknownOutcome) => Promise<'done' | 'failed' | undefined>,
  ): Promise<readonly UnknownOutcome[]> {
    const { store } = this.#options
    const list: UnknownOutcome[] = []
    for (const row of (await store.unfinished()).map(parse)) {
      if (row === undefined || !this.#isOurs(row)) continue
      const unknown = unknownOf(row)
      const answer = unknown && (await decide?.(unknown))
      if (unknown !== undefined && answer === undefined) list.push(unknown)
      if (answer !== undefined) await this.#move(row, row.state, answer)
      if (row.state === 'done' || answer === 'done') await this.#complete(row)
    }
    await store.removeExpired(this.#service.clock.now() - ROW_KEPT_AFTER_EXPIRY_MS)
    return list
  }

  #lookup({ owner, subjectRef: subject_ref }: ApprovalRequest<Args>, context: object) {
    const { workflow, action } = this.#options
    return bindingDigest({ workflow, action, owner, subject_ref, context })
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
      if (!(error instanceof GateError && FINAL.includes(error.code))) return
    }
    await this.#move(row, 'done', 'completed')
  }
}

function parse({ id: text, data, state, changed_at }: StoredApproval): Row | undefined {
  const id = parseId('sess', text)
  return id && { ...(JSON.parse(data) as Data), id, state, changed_at }
}

function unknownOf(row: Row): UnknownOutcome | undefined {
  const { id, owner, state, digest, subject_ref: subjectRef, changed_at: since } = row
  if (state !== 'running' && state !== 'unknown') return undefined
  return { id, owner, state, subjectRef, digest, since }
}

/** A promise that rejects when the signal aborts, until its `end`. */
function abortOf(signal: AbortSignal | undefined) {
  let abort = () => {}
  const aborted = new Promise<never>((_resolve, reject) => {
    abort = () => reject(signal?.reason as Error)
  })
  aborted.catch(() => {})
  if (signal?.aborted === true) abort()
  signal?.addEventListener('abort', abort)
  return { aborted, end: () => signal?.removeEventListener('abort', abort) }
}

/** @throws {ApprovalError} unless the action can run */
function rejectState(state: ApprovalState): void {
  if (state === 'running' || state === 'unknown')
    throw unknownOutcome('The action was started before, and its end is not known.')
  if (state !== 'waiting')
    throw new ApprovalError('already_executed', 'The approval was executed before.')
}

function unknownOutcome(message: string, cause?: unknown): ApprovalError {
  return new ApprovalError('outcome_unknown', message, { cause })
}
