import {
  bindingDigest,
  createGate,
  GateError,
  memoryPendingStore,
  type ReceiptKeySet,
  verifyReceipt,
} from '@bonded/integrator'
import { createApprovals, memoryApprovalStore } from '@bonded/integrator/approval'
import type { DemoOptions } from '../demo.ts'

/** The workflow of a phone's first approval, on a page. */
export const ENROLLMENT_WORKFLOW = 'agent_enrollment'
/** The workflow of the payments that an agent asks for. */
export const AGENT_WORKFLOW = 'agent_payments'
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
  /** The last request, which a further run with the same arguments continues. */
  #asked: { readonly id: string; readonly of: string } | undefined

  constructor(options: DemoOptions) {
    this.#options = options
    const { serviceOrigin: baseUrl, serverCredential } = options
    this.#gate = createGate({ baseUrl, serverCredential, store: memoryPendingStore() })
    this.#approvals = createApprovals<Payment>({
      service: { baseUrl, serverCredential },
      store: memoryApprovalStore(),
      workflow: AGENT_WORKFLOW,
      action: AGENT_ACTION,
      version: '1',
      describe: (payment) => [
        { label: 'Amount', value: writtenEuros(payment) },
        { label: 'To', value: payment.to },
      ],
    })
  }

  /** Creates the request that makes the phone known to the bank. Returns its session. */
  async startEnrollment(): Promise<string> {
    const context = {
      display: [{ label: 'Enrolls', value: 'This phone, for approvals of your agent' }],
      digest: await bindingDigest(ENROLLMENT),
    }
    const { session } = await this.#gate.create({ ...ENROLLMENT, context })
    return session.id
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
    try {
      const { id } = await this.#approvals.request(request)
      this.#asked = { id, of }
      return id
    } catch (failure) {
      if (failure instanceof GateError && failure.reason === 'subject_has_no_phone')
        return undefined
      throw failure
    }
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
    const { receipt } = (await (await this.#fetch(`/api/v1/sessions/${id}/receipt`)).json()) as {
      receipt: string
    }
    const keys = await this.#fetch('/.well-known/jwks.json')
    const jwks = (await keys.json()) as ReceiptKeySet
    const issuer = this.#options.serviceOrigin
    const verdict = await verifyReceipt({ receipt, jwks, issuer, sessionId: id })
    if (verdict.decision === 'reject') throw new Error(verdict.reason)
    const { context, bonded_at } = verdict.claims
    const { requester, display = [], text = '' } = context ?? {}
    return {
      rows: [
        ['Requested by', `${requester?.name ?? 'Unknown'} (${requester?.kind ?? 'unknown'})`],
        ...display.map(({ label, value }) => [label, value] as const),
        ['Approved', `${bonded_at.slice(0, 19).replace('T', ' ')} UTC`],
        ['Signatures', 'Your phone and the service, both verified'],
      ],
      text,
    }
  }

  async #fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const { serviceOrigin, serverCredential } = this.#options
    const headers = { authorization: `Bearer ${serverCredential}` }
    const response = await fetch(serviceOrigin + path, { ...init, headers })
    if (!response.ok) throw new Error(`the service answered ${response.status} to ${path}`)
    return response
  }
}
