import { createHash, randomBytes } from 'node:crypto'
import type { Role } from './roles.ts'

const MINUTE_MS = 60_000
/** An operator who left the desk is signed out. */
const IDLE_MS = 30 * MINUTE_MS
/** A working day. */
const LONGEST_MS = 8 * 60 * MINUTE_MS
/** How long after a sign-in an action may follow. */
const FRESH_MS = 5 * MINUTE_MS
/** More browsers than an operator uses. One who begins further ones ends the own oldest. */
const MAX_SESSIONS_OF_OPERATOR = 10
/** A bound on memory, of far more people than operate a service. The oldest session ends. */
const MAX_SESSIONS = 500

/** Who has signed in. */
export interface Operator {
  readonly subject: string
  /** Undefined for a passkey of this machine. */
  readonly issuer: string | undefined
  /** The passkey; undefined for a sign-in with a provider. */
  readonly credentialId?: Uint8Array
  /** A name to show to the operator. */
  readonly label: string
  readonly role: Role
  /** When the operator last entered a credential; undefined if the provider does not say. */
  readonly provedAt: number | undefined
}

export interface SignedIn extends Operator {
  /** The hash of the id, by which it is found. */
  readonly key: string
  /** What each form of the session carries. */
  readonly formToken: string
  readonly endsAt: number
  readonly claimedAt: number
  seenAt: number
}

/**
 * The sessions of this process, in memory: a restart ends them. They are found by the hash of their
 * id, so that a copy of the memory or a dump of it gives no session.
 */
export class Sessions {
  readonly #byKey = new Map<string, SignedIn>()
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  /**
   * Begins a session, which replaces an earlier one of the browser. A sign-in without a credential
   * does not make the session of an operator last longer.
   *
   * @returns the id, which only the cookie of the browser has
   */
  begin(operator: Operator, before: SignedIn | undefined): string {
    const now = this.#now()
    const id = randomBytes(32).toString('base64url')
    const key = keyOf(id)
    const isOwn = ({ subject, issuer }: Operator) =>
      subject === operator.subject && issuer === operator.issuer
    const isProved = (operator.provedAt ?? 0) > (before?.provedAt ?? 0)
    const endsAt =
      before !== undefined && isOwn(before) && !isProved ? before.endsAt : now + LONGEST_MS
    const formToken = randomBytes(32).toString('base64url')
    if (before !== undefined) this.end(before)
    const all = [...this.#byKey.values()]
    const own = all.filter(isOwn)
    const [oldest] = own.length >= MAX_SESSIONS_OF_OPERATOR ? own : all
    const isFull = own.length >= MAX_SESSIONS_OF_OPERATOR || all.length >= MAX_SESSIONS
    if (isFull && oldest !== undefined) this.end(oldest)
    this.#byKey.set(key, { ...operator, key, formToken, endsAt, claimedAt: now, seenAt: now })
    return id
  }

  /**
   * The session of an id, unless it has ended.
   *
   * @param by.isUsed whether an operator is at work, so that the session goes on
   */
  find(id: string | undefined, { isUsed }: { readonly isUsed: boolean }): SignedIn | undefined {
    const session = id === undefined ? undefined : this.#byKey.get(keyOf(id))
    if (session === undefined) return undefined
    const now = this.#now()
    if (now < session.endsAt && now < session.seenAt + IDLE_MS) {
      if (isUsed) session.seenAt = now
      return session
    }
    this.end(session)
    return undefined
  }

  end({ key }: SignedIn): void {
    this.#byKey.delete(key)
  }

  /** Whether the operator has entered a credential recently enough for an action. */
  isFresh({ provedAt }: SignedIn): boolean {
    return provedAt !== undefined && this.#now() < provedAt + FRESH_MS
  }
}

function keyOf(id: string): string {
  return createHash('sha256').update(id).digest('base64url')
}
