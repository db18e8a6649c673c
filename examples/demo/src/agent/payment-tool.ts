import {
  bindingDigest,
  createGate,
  GateError,
  memoryPendingStore,
  type ReceiptClaims,
  type ReceiptKeySet,
  verifyQuorum,
  verifyReceipt,
} from '@bonded/integrator'
import {
  type ApprovalProgress,
  createApprovals,
  memoryApprovalStore,
} from '@bonded/integrator/approval'
import type { DemoOptions } from '../demo.ts'
import { Colleague } from './colleague.ts'

/** The workflow of a phone's first approval, on a page. */
export const ENROLLMENT_WORKFLOW = 'agent_enrollment'
/** The workflow of the payments that an agent asks for. */
export const AGENT_WORKFLOW = 'agent_payments'
/** The workflow of the payments that two people must approve. */
export const TWO_PEOPLE_WORKFLOW = 'agent_payments_of_two'
export const ENROLLMENT_ACTION = 'enroll'
export const AGENT_ACTION = 'transfer'

/** The arguments of the tool. */
export interface Payment {
  readonly to: string
  readonly iban: string
  readonly amount_eur: number
  readonly invoice: string
  readonly due: string
}

/** The lines of a receipt that the page shows, after its verification. */
export interface ShownReceipt {
  readonly rows: readonly (readonly [label: string, value: string])[]
  readonly text: string
}

/** How many people must approve a payment of two. */
export const PEOPLE = 2
/** The demo has one user, who has no other sign-in. */
const OWNER = 'visitor'
const REQUESTER = { kind: 'agent', name: 'Invoice agent', detail: 'In your terminal' } as const
const ENROLLMENT = { workflow: ENROLLMENT_WORKFLOW, action: ENROLLMENT_ACTION, owner: OWNER }

export function writtenEuros({ amount_eur }: Payment): string {
  return `€${amount_eur.toLocaleString('en-US', { minimumFractionDigits: 2 })}`
}

/** The tool of the bank's backend, which pays what the user has approved. It moves no money. */
export class PaymentTool {
  readonly #options: DemoOptions
  readonly #gate
  readonly #approvals
  readonly #approvalsOfTwo
  #colleague: Promise<Colleague> | undefined
  /** The last request, which a further run with the same arguments continues. */
  #asked: { readonly id: string; readonly of: string } | undefined

  constructor(options: DemoOptions) {
    this.#options = options
    const { serviceOrigin: baseUrl, serverCredential } = options
    this.#gate = createGate({ baseUrl, serverCredential, store: memoryPendingStore() })
    const approvals = {
      service: { baseUrl, serverCredential },
      action: AGENT_ACTION,
      version: '1',
      describe: (payment: Payment) => [
        { label: 'Amount', value: writtenEuros(payment) },
        { label: 'To', value: payment.to },
      ],
    }
    this.#approvals = createApprovals<Payment>({
      ...approvals,
      workflow: AGENT_WORKFLOW,
      store: memoryApprovalStore(),
    })
    this.#approvalsOfTwo = createApprovals<Payment>({
      ...approvals,
      workflow: TWO_PEOPLE_WORKFLOW,
      store: memoryApprovalStore(),
      quorum: { minimum: PEOPLE },
    })
  }

  /** Creates the request that makes a phone known to the bank. Returns its session. */
  async startEnrollment() {
    const context = {
      display: [{ label: 'Enrolls', value: 'This phone, for approvals of your agent' }],
      digest: await bindingDigest(ENROLLMENT),
    }
    const { session } = await this.#gate.create({ ...ENROLLMENT, context })
    return session
  }

  /**
   * Returns the user of the phone that approved its enrollment.
   *
   * @throws {GateError} if it did not
   */
  async enroll(session_id: string): Promise<string> {
    const form_digest = await bindingDigest(ENROLLMENT)
    const store = async (_tx: unknown, { subject_ref }: { readonly subject_ref: string | null }) =>
      subject_ref
    const done = await this.#gate.protect({
      ...ENROLLMENT,
      session_id,
      form_digest,
      accept: store,
      review: store,
    })
    if ('result' in done && done.result !== null) return done.result
    throw new GateError('invalid_request', 'The phone was not enrolled.')
  }

  /** Asks the user. Returns undefined if the user has no phone that may answer. */
  async request(args: Payment, subjectRef: string): Promise<string | undefined> {
    const of = await bindingDigest({ subjectRef, args })
    if (this.#asked?.of === of && (await this.isOpen(this.#asked.id))) return this.#asked.id
    const request = { owner: OWNER, subjectRef, requester: REQUESTER, args }
    const id = await unlessPhoneless(this.#approvals.request(request))
    if (id !== undefined) this.#asked = { id, of }
    return id
  }

  /** Asks the user and the colleague, as {@link request} does. Both must approve. */
  async requestOfTwo(args: Payment, subjectRef: string): Promise<string | undefined> {
    const { ref } = await this.colleague()
    const people = [
      { person: OWNER, ref: subjectRef },
      { person: 'colleague', ref },
    ]
    const request = { owner: OWNER, people, needed: PEOPLE, maker: null, args }
    return unlessPhoneless(this.#approvalsOfTwo.request({ ...request, requester: REQUESTER }))
  }

  /** The colleague, whose phone is enrolled at the first call. */
  colleague(): Promise<Colleague> {
    // Two runs at once have one colleague, and a call that fails is repeated by the next run.
    return (this.#colleague ??= Colleague.enroll(this, this.#options.serviceOrigin).catch(
      (failure: unknown) => {
        this.#colleague = undefined
        throw failure
      },
    ))
  }

  /** How many of the two have approved, and why one declined. Undefined without the service. */
  async progressOfTwo(id: string): Promise<ApprovalProgress | undefined> {
    try {
      return await this.#approvalsOfTwo.progress({ id, owner: OWNER })
    } catch (failure) {
      if (failure instanceof GateError && failure.retryable) return undefined
      throw failure
    }
  }

  /** @throws {ApprovalError} unless both have approved exactly this */
  payOfTwo(id: string, args: Payment): Promise<string> {
    return this.#approvalsOfTwo.execute({ id, owner: OWNER, args }, async () => 'sent')
  }

  /** Whether the user can still answer. A stopped service has no state, and the request goes on. */
  async isOpen(id: string): Promise<boolean> {
    const state = await this.#options.sandbox.stateOf(id).catch(() => undefined)
    return state === undefined || state === 'pending' || state === 'step_up_required'
  }

  status(id: string) {
    return this.#approvals.status({ id, owner: OWNER })
  }

  /** @throws {ApprovalError} if the user has not approved exactly this */
  pay(id: string, args: Payment): Promise<string> {
    return this.#approvals.execute({ id, owner: OWNER, args }, async () => 'sent')
  }

  /** Ends an approval that is not going to be used, so that the phone does not wait for it. */
  async cancel(id: string): Promise<void> {
    await this.#fetch(`/api/v1/sessions/${id}`, { method: 'DELETE' })
  }

  /** Fetches the receipt, and verifies the signatures of the service and of the phone. */
  async receipt(id: string): Promise<ShownReceipt> {
    const [receipt, jwks] = [await this.#receiptOf(id), await this.#keys()]
    const issuer = this.#options.serviceOrigin
    const verdict = await verifyReceipt({ receipt, jwks, issuer, sessionId: id })
    if (verdict.decision === 'reject') throw new Error(verdict.reason)
    return shownReceipt([verdict.claims], 'Your phone and the service, both verified')
  }

  /** Fetches both receipts, and verifies that two people with keys of their own signed one text. */
  async receiptOfTwo(id: string): Promise<ShownReceipt> {
    const read = await this.#fetch(`/api/v1/quorums/${id}`)
    const { sessions } = (await read.json()) as {
      sessions: { id: string; context: { digest: string } }[]
    }
    const receipts = await Promise.all(
      sessions.map(async (session) => ({ receipt: await this.#receiptOf(session.id) })),
    )
    const { serviceOrigin: issuer, tenantId } = this.#options
    const verdict = await verifyQuorum(receipts, {
      jwks: await this.#keys(),
      issuer,
      tenantId,
      workflow: TWO_PEOPLE_WORKFLOW,
      // The library has compared it with the arguments before it paid.
      digest: sessions[0]?.context.digest ?? '',
      minimum: PEOPLE,
    })
    if (verdict.decision === 'reject') throw new Error(verdict.reason)
    const claims = verdict.receipts.map((each) => each.claims)
    return shownReceipt(claims, 'Two phones and the service, all verified')
  }

  async #receiptOf(id: string): Promise<string> {
    const read = await this.#fetch(`/api/v1/sessions/${id}/receipt`)
    return ((await read.json()) as { receipt: string }).receipt
  }

  async #keys(): Promise<ReceiptKeySet> {
    return (await (await this.#fetch('/.well-known/jwks.json')).json()) as ReceiptKeySet
  }

  async #fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const { serviceOrigin, serverCredential } = this.#options
    const headers = { authorization: `Bearer ${serverCredential}` }
    const response = await fetch(serviceOrigin + path, { ...init, headers })
    if (!response.ok) throw new Error(`the service answered ${response.status} to ${path}`)
    return response
  }
}

/** Resolves to the id of a request, or to undefined if its user has no phone that may answer. */
async function unlessPhoneless(asking: Promise<{ readonly id: string }>) {
  try {
    return (await asking).id
  } catch (failure) {
    if (failure instanceof GateError && failure.reason === 'subject_has_no_phone') return undefined
    throw failure
  }
}

function shownReceipt(claims: readonly ReceiptClaims[], signatures: string): ShownReceipt {
  const { requester, display = [], text = '' } = claims[0]?.context ?? {}
  return {
    rows: [
      ['Requested by', `${requester?.name ?? 'Unknown'} (${requester?.kind ?? 'unknown'})`],
      ...display.map(({ label, value }) => [label, value] as const),
      ...claims.map(
        ({ bonded_at }) => ['Approved', `${bonded_at.slice(0, 19).replace('T', ' ')} UTC`] as const,
      ),
      ['Signatures', signatures],
    ],
    text,
  }
}
