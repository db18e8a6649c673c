import {
  BROWSER_SECRET_HEADER,
  canonicalJson,
  COMPLETE_SESSION,
  COMPLETION_SECRET_HEADER,
  CREATE_QUORUM,
  CREATE_SESSION,
  type CreatedQuorum,
  type CreatedSession,
  type FullSession,
  GET_QUORUM,
  GET_SESSION,
  type GateExpectation,
  type GateVerdict,
  judgeQuorum,
  judgeSubmit,
  OUTCOME_HEADER,
  PROVE_BROWSER,
  type Quorum,
  type QuorumRow,
  type QuorumVerdict,
  READ_RECEIPT,
  READ_TIMELINE,
  type Receipt,
  requestPath,
  type Route,
  type Timeline,
  WATCH_HEADER,
} from '@bonded/contract'
import type { BackendCaller, BrowserCaller } from '@bonded/core/operations/service'
import { fetchAs, type GameFetch } from './http.ts'
import { BANK_ORIGIN, type GameService, NEEDED, SERVICE_ORIGIN, TENANT, TOOLS } from './service.ts'

/** What a user asks the bank for: members of a form, or the arguments of a tool. */
export type Form = Readonly<Record<string, string>>

/** A request for an approval. */
export interface Asked {
  readonly workflow: string
  readonly action: string
  readonly form: Form
  /** What the phone shows beside the form, which the digest does not cover. */
  readonly shown?: Form
  /** Whose sign-in at the bank asks. */
  readonly owner: string
  /** The user whom the session names, if any. */
  readonly subjectRef?: string | undefined
}

/** A submit of a form after its approval. */
export interface Submitted extends Omit<Asked, 'subjectRef'> {
  readonly sessionId: string | undefined
  /** Of the browser that submits. */
  readonly browserSecret?: string
  /** What the bank's gate expects beside the form. */
  readonly expected?: Partial<GateExpectation>
}

const SERVER_KEY = {
  keyId: 'harborbank',
  hash: new Uint8Array(),
  tenant: TENANT,
  scope: null,
  revokedAt: null,
}

/** The backend of a tenant, with the gate before what it does. */
export class Bank {
  readonly #game: GameService
  readonly #fetch: GameFetch
  /** The fetch of the bank's page, in any browser. */
  readonly #pageFetch: GameFetch
  readonly #pending = new Map<string, Asked>()
  readonly #secrets = new Map<string, string>()
  /** Of the latest quorum. */
  #row: QuorumRow | undefined
  /** What the bank has done. */
  readonly done: Submitted[] = []
  /** Why the gate did not accept a submit, the first one first. */
  readonly refusals: string[] = []

  constructor(game: GameService) {
    this.#game = game
    const backend: BackendCaller = { kind: 'backend', credential: SERVER_KEY }
    const page: BrowserCaller = {
      kind: 'browser',
      key: { key: 'pk_game', tenant: TENANT, scope: null, revokedAt: null },
      origin: BANK_ORIGIN,
    }
    this.#fetch = fetchAs(game, async () => backend)
    this.#pageFetch = fetchAs(game, async () => page)
  }

  /** The digest of a form, as the integrator's `bindingDigest` computes it. */
  digestOf(form: Form): string {
    return this.#game.service.keys.sha256(canonicalJson(form))
  }

  /** Creates a session for a form. The phone shows its members. */
  async ask(asked: Asked): Promise<CreatedSession> {
    const { workflow, subjectRef } = asked
    const body = { ...this.#requestOf(asked), ...(subjectRef && { subject_ref: subjectRef }) }
    const created = await this.#call<CreatedSession>(CREATE_SESSION, { body })
    this.#remember(created, asked)
    // A page shows the code, and its browser names it. An agent has no page.
    if (workflow !== TOOLS)
      await this.#send(this.#pageFetch, GET_SESSION, {
        id: created.id,
        headers: { [WATCH_HEADER]: created.watch_token },
      })
    return created
  }

  /** Asks users in their inboxes: several as a quorum. @returns the reason of a rejection */
  async askPeople(
    asked: Asked,
    [first, ...others]: readonly string[],
  ): Promise<string | undefined> {
    this.#row = undefined
    const of = 1 + others.length
    const created = await this.#send(this.#fetch, of === 1 ? CREATE_SESSION : CREATE_QUORUM, {
      body: {
        ...this.#requestOf(asked),
        ...(of === 1
          ? { subject_ref: first }
          : { subject_refs: [first, ...others], needed: of, maker_ref: null }),
      },
    })
    if (created.error !== undefined) return created.error.reason
    const { quorum_id: id, sessions } = created as unknown as CreatedQuorum
    this.#row = { id, needed: of, of, refs: [first ?? '', ...others] }
    for (const session of sessions) this.#remember(session, asked)
    return undefined
  }

  /** Judges an action that several people approve, and acts as `submit` does. */
  async release(submitted: Omit<Submitted, 'sessionId'>): Promise<string> {
    const row = this.#row
    if (row === undefined) return 'There is nothing to release.'
    const { owner, workflow, action, form } = submitted
    const { sessions } = await this.#call<Quorum>(GET_QUORUM, { id: row.id })
    const verdict = judgeQuorum({
      row,
      minimum: NEEDED,
      sessions,
      owner,
      pending: submitted,
      expected: { workflow, action, context_digest: this.digestOf(form) },
      now: this.#game.service.clock.now(),
    })
    return this.#act({ ...submitted, sessionId: row.id }, { verdict, ids: verdict.approved })
  }

  /** The receipt of a session, as the service returns it. */
  receiptOf(id: string): Promise<Receipt> {
    return this.#call<Receipt>(READ_RECEIPT, { id })
  }

  /** The session as the backend reads it. */
  read(id: string, browserSecret?: string): Promise<FullSession> {
    const headers = browserSecret === undefined ? {} : { [BROWSER_SECRET_HEADER]: browserSecret }
    return this.#call<FullSession>(GET_SESSION, { id, headers })
  }

  /** Sends the proof of a browser from the bank's page. @returns the state, or the reason */
  async prove(session: Pick<CreatedSession, 'id' | 'watch_token'>, proof: object): Promise<string> {
    const headers = { [WATCH_HEADER]: session.watch_token }
    const call = { id: session.id, headers, body: proof }
    const proved = await this.#send(this.#pageFetch, PROVE_BROWSER, call)
    return proved.error?.reason ?? String(proved.state)
  }

  /** Judges a submit, and acts where the gate accepts. @returns `accept`, or why not */
  async submit(submitted: Submitted): Promise<string> {
    const { sessionId, owner, workflow, action, form, browserSecret, expected } = submitted
    const session = sessionId === undefined ? undefined : await this.read(sessionId, browserSecret)
    const verdict = judgeSubmit({
      session_id: sessionId,
      owner,
      pending: this.#pending.get(sessionId ?? ''),
      session,
      expected: { workflow, action, context_digest: this.digestOf(form), ...expected },
      now: this.#game.service.clock.now(),
    })
    return this.#act(submitted, { verdict, ids: [sessionId ?? ''] })
  }

  /** What the bank can read afterward about each of its sessions. */
  async timelines(): Promise<readonly Timeline[]> {
    const ids = [...this.#pending.keys()]
    const read = ids.map((id) => this.#call<Partial<Timeline>>(READ_TIMELINE, { id }))
    // A restored service does not know every session.
    return (await Promise.all(read)).filter((each): each is Timeline => each.entries !== undefined)
  }

  async #act(
    submitted: Submitted,
    of: {
      readonly verdict: GateVerdict | QuorumVerdict
      readonly ids: readonly string[]
    },
  ): Promise<string> {
    const { verdict, ids } = of
    if (verdict.decision !== 'accept') {
      const said = verdict.reasons.join(', ')
      this.refusals.push(said)
      return said
    }
    this.done.push(submitted)
    for (const id of ids)
      await this.#call(COMPLETE_SESSION, {
        id,
        headers: {
          [COMPLETION_SECRET_HEADER]: this.#secrets.get(id) ?? '',
          [OUTCOME_HEADER]: 'accepted',
        },
      })
    return 'accept'
  }

  /** What each create says about a form. */
  #requestOf({ workflow, action, form, shown }: Asked) {
    const display = Object.entries({ ...shown, ...form }).map(([label, value]) => ({
      label,
      value,
    }))
    return { workflow, action, context: { digest: this.digestOf(form), display } }
  }

  #remember({ id, completion_secret }: CreatedSession, asked: Asked): void {
    this.#pending.set(id, asked)
    this.#secrets.set(id, completion_secret)
  }

  #call<T>(route: Route, request: Sent): Promise<T> {
    return this.#send(this.#fetch, route, request) as Promise<T>
  }

  async #send(fetch: GameFetch, route: Route, { id = '', headers = {}, body }: Sent) {
    const path = requestPath(route as never, { session_id: id, quorum_id: id } as never)
    const response = await fetch(SERVICE_ORIGIN + path, {
      method: route.method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    })
    return JSON.parse(await response.text()) as Answer
  }
}

/** One request of the bank. */
interface Sent {
  readonly id?: string | undefined
  readonly headers?: Record<string, string>
  readonly body?: object
}

interface Answer {
  readonly state?: string
  readonly error?: { readonly reason: string }
}
