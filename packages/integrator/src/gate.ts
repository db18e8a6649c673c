import { API_PATH, isServerCredential, Secret } from '@bonded/contract'
import { type GateClock, type RandomBytes, systemClock, systemRandom } from './clock.ts'
import { GateError } from './errors.ts'
import type { PendingStore } from './pending/pending-store.ts'
import type { FetchLike } from './service/call.ts'
import { type Completion, completeBond } from './verbs/complete.ts'
import { type CreateBond, createBond, type PublicCreatedSession } from './verbs/create.ts'
import { issuedVerdicts } from './verbs/issued-verdicts.ts'
import type { GateDependencies, GatePolicy } from './verbs/dependencies.ts'
import { parsePolicy, rejectUnknownMembers } from './verbs/gate-policy.ts'
import { type ProtectedSubmit, type ProtectOutcome, protectSubmit } from './verbs/protect.ts'
import { type Used, useBond } from './verbs/use.ts'
import type { AcceptVerdict, ReviewVerdict, Submit, Verdict } from './verbs/verdict.ts'
import { verifySubmit } from './verbs/verify.ts'

/** The options of a gate. */
export interface GateOptions<Tx> {
  /**
   * The origin of the service, such as `https://bonds.example`, or its API base, which ends in
   * `/api/v1`. Plain http is accepted for this machine only. Undefined, such as a variable of the
   * environment that is not set, throws.
   */
  readonly baseUrl: string | undefined
  /**
   * `sk_beta_…`. Read it from your secret store, and never send it to a browser. Undefined throws.
   */
  readonly serverCredential: string | undefined
  readonly store: PendingStore<Tx>
  readonly policy?: GatePolicy
  /** Default: the platform's. */
  readonly fetch?: FetchLike
  readonly clock?: GateClock
  readonly random?: RandomBytes
}

const OPTIONS = ['baseUrl', 'serverCredential', 'store', 'policy', 'fetch', 'clock', 'random']

/** Five verbs, in the order of a bond's life. Every one may be called by many requests at once. */
export interface Gate<Tx> {
  /** Creates a session for this owner and returns it without its completion secret. */
  create(bond: CreateBond): Promise<{ session: PublicCreatedSession }>
  /** Verifies a submit and changes nothing. */
  verify(submit: Submit): Promise<Verdict>
  /**
   * Runs the action in the transaction that uses the bond up. `used` is false when another submit
   * used it first, or the verdict has expired (`VERDICT_TTL_MS`, or with its session).
   *
   * @throws {GateError} `verdict_invalid` for anything but a verdict that this gate issued
   */
  use<T>(verdict: AcceptVerdict | ReviewVerdict, action: (tx: Tx) => Promise<T>): Promise<Used<T>>
  /** Is called after the commit. Safe to repeat. */
  complete(session_id: string, completion?: Completion): Promise<void>
  /** Verify, use, complete: the usual choice of an endpoint. */
  protect<T>(submit: ProtectedSubmit<Tx, T>): Promise<ProtectOutcome<T>>
}

/**
 * A gate before one or more protected actions.
 *
 * @throws {GateError} `invalid_configuration`, before any call
 * @example
 * const gate = createGate({ baseUrl, serverCredential, store: memoryPendingStore() })
 * const digest = await bindingDigest(record)
 * const context = { display: [{ label: 'Amount', value: '€12,500' }], digest }
 * const { session } = await gate.create({ workflow, action, owner: 'user-1', context })
 */
export function createGate<Tx>(options: GateOptions<Tx>): Gate<Tx> {
  refuseBrowser()
  rejectUnknownMembers(options, OPTIONS)
  const { clock = systemClock, random = systemRandom, store, policy = {} } = options
  const gate: GateDependencies<Tx> = {
    service: {
      baseUrl: parseBaseUrl(options.baseUrl),
      serverCredential: parseServerCredential(options.serverCredential),
      // Called as a plain function: a browser-like fetch refuses another `this`.
      fetch: options.fetch ?? ((url, init) => fetch(url, init)),
      clock,
      random,
    },
    store,
    policy: parsePolicy(policy),
    verdicts: issuedVerdicts(),
    clock,
    random,
  }
  return {
    create: (bond) => createBond(gate, bond),
    verify: (submit) => verifySubmit(gate, submit),
    use: (verdict, action) => useBond(gate, verdict, action),
    complete: (session_id, completion) => completeBond(gate, session_id, completion),
    protect: (submit) => protectSubmit(gate, submit),
  }
}

/** A page that could call the service with the credential would show it to every visitor. */
function refuseBrowser(): void {
  const { document, process } = globalThis as {
    readonly document?: object
    readonly process?: { readonly versions?: { readonly node?: string } }
  }
  // A test in Node can have a document, such as that of jsdom.
  if (document === undefined || process?.versions?.node !== undefined) return
  throw new GateError(
    'invalid_configuration',
    'createGate runs on your backend, not in a browser: revoke a server credential that reached a page. The page uses Pulse, with the publishable key.',
  )
}

/** The hosts of this machine, for which plain http is safe. */
const LOCAL_HOSTS: readonly string[] = ['localhost', '127.0.0.1', '[::1]']

function parseBaseUrl(text = ''): string {
  const [, origin] = /^(https?:\/\/[^/?#@\\\s]+)(?:\/api\/v1)?\/*$/.exec(text) ?? []
  if (origin === undefined || !URL.canParse(origin)) {
    throw new GateError(
      'invalid_configuration',
      'Pass the origin of the service as baseUrl, such as https://bonds.example.',
    )
  }
  const { protocol, hostname } = new URL(origin)
  if (protocol !== 'https:' && !LOCAL_HOSTS.includes(hostname)) {
    throw new GateError(
      'invalid_configuration',
      'baseUrl must be https: the server credential and the verdicts travel over it.',
    )
  }
  return origin + API_PATH
}

function parseServerCredential(text = ''): Secret {
  if (!isServerCredential(text)) {
    // Never the value: a mistyped credential is nearly a credential.
    throw new GateError(
      'invalid_configuration',
      'serverCredential is missing, or not a whole server credential (sk_beta_…).',
    )
  }
  return new Secret(text)
}
