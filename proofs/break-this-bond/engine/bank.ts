import {
  BROWSER_SECRET_HEADER,
  canonicalJson,
  COMPLETE_SESSION,
  COMPLETION_SECRET_HEADER,
  CREATE_SESSION,
  type CreatedSession,
  type FullSession,
  GET_SESSION,
  type GateExpectation,
  judgeSubmit,
  PROVE_BROWSER,
  READ_TIMELINE,
  requestPath,
  type Route,
  type Timeline,
  WATCH_HEADER,
} from '@bonded/contract'
import type { BackendCaller, BrowserCaller } from '@bonded/core/operations/service'
import { fetchAs, type GameFetch } from './http.ts'
import { BANK_ORIGIN, type GameService, SERVICE_ORIGIN, TENANT, TOOLS } from './service.ts'

/** What a user asks the bank for: members of a form, or the arguments of a tool. */
export type Form = Readonly<Record<string, string>>

/** A request for an approval. */
export interface Asked {
  readonly workflow: string
  readonly action: string
  readonly form: Form
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
    const { workflow, action, form, subjectRef } = asked
    const display = Object.entries(form).map(([label, value]) => ({ label, value }))
    const context = { digest: this.digestOf(form), display }
    const created = await this.#call<CreatedSession>(CREATE_SESSION, {
      body: { workflow, action, context, ...(subjectRef && { subject_ref: subjectRef }) },
    })
    this.#pending.set(created.id, asked)
    this.#secrets.set(created.id, created.completion_secret)
    // A page shows the code, and its browser names it. An agent has no page.
    if (workflow !== TOOLS)
      await this.#send(this.#pageFetch, GET_SESSION, {
        id: created.id,
        headers: { [WATCH_HEADER]: created.watch_token },
      })
    return created
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
    if (verdict.decision !== 'accept') {
      const said = verdict.reasons.join(', ')
      this.refusals.push(said)
      return said
    }
    this.done.push(submitted)
    const secret = this.#secrets.get(sessionId ?? '') ?? ''
    await this.#call(COMPLETE_SESSION, {
      id: sessionId,
      headers: { [COMPLETION_SECRET_HEADER]: secret },
    })
    return 'accept'
  }

  /** What the bank can read afterward about each of its sessions. */
  async timelines(): Promise<readonly Timeline[]> {
    const ids = [...this.#pending.keys()]
    return Promise.all(ids.map((id) => this.#call<Timeline>(READ_TIMELINE, { id })))
  }

  #call<T>(route: Route, request: Sent): Promise<T> {
    return this.#send(this.#fetch, route, request) as Promise<T>
  }

  async #send(fetch: GameFetch, route: Route, { id = '', headers = {}, body }: Sent) {
    const path = requestPath(route as never, { session_id: id } as never)
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
