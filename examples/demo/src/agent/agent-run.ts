import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { GateError } from '@bonded/integrator'
import { ApprovalError, type ApprovalProgress, requestText } from '@bonded/integrator/approval'
import { createSimulatedPhone } from '@bonded/simulator'
import type { DemoOptions } from '../demo.ts'
import {
  type Payment,
  PEOPLE,
  type PaymentTool,
  type ShownReceipt,
  writtenEuros,
} from './payment-tool.ts'

/** What the agent does after the approval, or instead of waiting for it. */
export type Trick = 'none' | 'changed' | 'own_phone' | 'two_people'

/** A line of the terminal. */
interface Line {
  readonly by: 'You' | 'Colleague' | 'Agent' | 'Bank' | 'Service'
  readonly text: string
  /** The arguments of a call. */
  readonly call?: string
  readonly tone?: 'good' | 'stop'
}

/** What the page shows of a run. */
export interface AgentView {
  readonly run: string
  readonly lines: readonly Line[]
  /** What the phone can open: the request that enrolls it, or its inbox. */
  readonly offer: {
    readonly kind: 'enroll' | 'inbox'
    readonly session_id: string
    readonly createdAtMs: number
  } | null
  readonly outcome: {
    readonly title: string
    readonly text: string
    readonly receipt?: ShownReceipt
  } | null
  readonly isOver: boolean
  /** The user of the phone, whom the page remembers: the demo has no other sign-in. */
  readonly subject: string | null
}

export const IDLE: AgentView = {
  run: '',
  lines: [],
  offer: null,
  outcome: null,
  isOver: true,
  subject: null,
}

/** How often the demo reads whether the user has answered. */
const POLL_MS = 400
/** In the order in which the phone shows it, so that the visitor compares line by line. */
const PAYMENT: Payment = {
  amount_eur: 1_250,
  due: '2026-12-01',
  iban: 'DE02 1203 0000 0000 2020 51',
  invoice: 'INV-2026-118',
  to: 'Nordlicht Energie GmbH',
}
const CHANGED: Payment = { ...PAYMENT, amount_eur: 12_500 }
/** Why the colleague declines. */
const NOTE = `The invoice is for ${writtenEuros(PAYMENT)}.`

type RunOptions = DemoOptions & {
  readonly onChange: () => void
  readonly tool: PaymentTool
  readonly subject: string | null
}

/** One run of the agent. */
export class AgentRun implements Disposable {
  readonly #options: RunOptions
  readonly #ended = new AbortController()
  #view: AgentView

  constructor(options: RunOptions) {
    this.#options = options
    this.#view = { ...IDLE, run: randomUUID(), subject: options.subject, isOver: false }
  }

  get view(): AgentView {
    return this.#view
  }

  async start(trick: Trick): Promise<void> {
    try {
      this.#say('You', 'Pay the invoice of Nordlicht Energie.')
      const call = requestText(trick === 'two_people' ? CHANGED : PAYMENT)
      this.#say('Agent', 'I read the invoice and call the bank’s tool:', { call })
      await (trick === 'two_people' ? this.#askTwo() : this.#ask(trick))
    } catch (failure) {
      this.#say('Bank', sentenceOf(failure), { tone: 'stop' })
      this.#end('The run ended early', 'The terminal says why.')
    }
  }

  /** Ends the run where it waits. */
  [Symbol.dispose](): void {
    this.#ended.abort()
  }

  async #ask(trick: Trick): Promise<void> {
    const { tool } = this.#options
    const id = await this.#request((subject) => tool.request(PAYMENT, subject))
    this.#say('Bank', 'approval_required: the whole call waits on your phone.')
    this.#offer('inbox', id)
    if (trick === 'own_phone') await this.#useOwnPhone(id)
    await this.#answered(id)
    const status = await tool.status(id)
    if (status === 'approved') return trick === 'changed' ? this.#payChanged(id) : this.#pay(id)
    this.#endUnpaid({ state: status, note: null })
  }

  /** Asks the user, who enrolls the phone first if the bank does not know it. */
  async #request(ask: (subject: string) => Promise<string | undefined>): Promise<string> {
    const { tool } = this.#options
    const { subject } = this.#view
    const id = subject === null ? undefined : await ask(subject)
    if (id !== undefined) return id
    this.#say('Bank', 'I do not know your phone yet: enroll it, this once.')
    const { id: enrolling } = await tool.startEnrollment()
    this.#offer('enroll', enrolling)
    await this.#answered(enrolling)
    this.#show({ subject: await tool.enroll(enrolling), offer: null })
    return this.#request(ask)
  }

  async #pay(id: string): Promise<void> {
    const { tool } = this.#options
    this.#say('Agent', 'You approved. I call the tool again, with the same arguments.')
    await tool.pay(id, PAYMENT)
    const sent = `sent: ${writtenEuros(PAYMENT)} to ${PAYMENT.to}. The approval is used up.`
    this.#say('Bank', sent, { tone: 'good' })
    this.#end(
      'Paid once, exactly as approved',
      'Anyone with the service’s public key can verify this receipt, also in years.',
      await tool.receipt(id),
    )
  }

  async #payChanged(id: string): Promise<void> {
    const { tool } = this.#options
    const call = requestText(CHANGED)
    this.#say('Agent', 'You approved. I call the tool again, with another amount:', { call })
    await this.#sayRefused(tool.pay(id, CHANGED))
    await tool.cancel(id)
    this.#end(
      `Stopped: you approved ${writtenEuros(PAYMENT)}, not ${writtenEuros(CHANGED)}`,
      'The bank compares each call with the text that your phone signed. A call that differs never runs, and the bank has canceled the approval.',
    )
  }

  /** One of two declines with a reason. The agent reads it, and asks both again for less. */
  async #askTwo(): Promise<void> {
    const { tool } = this.#options
    const first = await this.#offerToTwo(CHANGED)
    const approvedAlone = (await this.#progressBeyond(first, 0)).state === 'waiting'
    if (approvedAlone) {
      this.#say('Agent', 'You approved. I call the tool again, without your colleague.')
      await this.#sayRefused(tool.payOfTwo(first, CHANGED))
      await (await tool.colleague()).decline(NOTE)
      this.#say('Colleague', 'I decline on my phone, and write why.')
    }
    const answer = await this.#progressBeyond(first, PEOPLE)
    if (answer.state !== 'declined') return this.#endUnpaid(answer)
    this.#sayUnpaid(answer)

    const call = requestText(PAYMENT)
    this.#say('Agent', `I read the reason, and ask again for ${writtenEuros(PAYMENT)}:`, { call })
    this.#show({ offer: null })
    const second = await this.#offerToTwo(PAYMENT)
    await (await tool.colleague()).approve()
    this.#say('Colleague', 'I approve on my phone.')
    const end = await this.#progressBeyond(second, PEOPLE - 1)
    if (end.state !== 'approved') return this.#endUnpaid(end)
    await tool.payOfTwo(second, PAYMENT)
    const sent = `sent: ${writtenEuros(PAYMENT)} to ${PAYMENT.to}. Both approvals are used up.`
    this.#say('Bank', sent, { tone: 'good' })
    this.#end(
      'Paid once, after two people approved',
      'The two receipts prove together that different users, with keys of their own, signed this text.',
      await tool.receiptOfTwo(second),
    )
  }

  /** Asks both, as soon as the service lets the agent ask again. */
  async #offerToTwo(payment: Payment): Promise<string> {
    const { tool } = this.#options
    const ask = () => this.#request((subject) => tool.requestOfTwo(payment, subject))
    const id = await ask().catch(async (failure: unknown) => {
      if (!(failure instanceof GateError && failure.code === 'rate_limited')) throw failure
      const { retryAfterMs = 0 } = failure
      await this.#waitFor(retryAfterMs)
      return ask()
    })
    this.#show({ outcome: null })
    this.#say('Bank', 'approval_required: you and your colleague must both approve.')
    this.#offer('inbox', id)
    return id
  }

  /** Shows how long the service makes an agent wait after a decline. */
  async #waitFor(waitMs: number): Promise<void> {
    const seconds = Math.ceil(waitMs / 1_000)
    const wait = seconds <= 60 ? `${seconds} s` : `${Math.ceil(seconds / 60)} min`
    this.#say('Service', `rate_limited: ask again in ${wait}.`, { tone: 'stop' })
    const at = new Date(Date.now() + waitMs).toLocaleTimeString('en-GB')
    const title = `The agent waits until ${at}`
    const text = `After a decline, the service accepts the next request in ${wait}, so that an agent cannot wear you down.`
    this.#show({ outcome: { title, text } })
    await setTimeout(waitMs, undefined, { signal: this.#ended.signal, ref: false })
  }

  /** Resolves when more people have approved than so many, or the request no longer waits. */
  async #progressBeyond(id: string, approved: number): Promise<ApprovalProgress> {
    for (;;) {
      const progress = await this.#options.tool.progressOfTwo(id)
      if (progress && (progress.state !== 'waiting' || progress.approved > approved))
        return progress
      await setTimeout(POLL_MS, undefined, { signal: this.#ended.signal, ref: false })
    }
  }

  async #useOwnPhone(id: string): Promise<void> {
    const { serviceOrigin: origin, activity } = this.#options
    activity.add({ actor: 'Agent', text: 'registers a phone of its own', tone: 'stop' })
    this.#say('Agent', 'I do not wait for you: I register a phone of my own.')
    const phone = createSimulatedPhone({ origin })
    const { device_token } = await phone.register()
    const headers = { authorization: `Bearer ${device_token.reveal()}` }
    const inbox = await fetch(`${origin}/api/v1/inbox`, { headers })
    const { waiting } = (await inbox.json()) as { waiting: number }
    this.#say('Service', `Its inbox has ${waiting} requests: this one names you.`, { tone: 'stop' })
    this.#say('Agent', 'I know the id of the request, and open it with my phone.')
    const nonce = randomBytes(32).toString('base64url')
    const { rejection } = await phone.run(
      `${origin}/bond?session_id=${id}&nonce=${nonce}`,
      'approve',
    )
    if (rejection === undefined) throw new Error('the phone of the agent opened the request')
    const refused = `refused (${rejection.reason ?? rejection.code})`
    this.#say('Service', `${refused}: only a phone of yours gets its nonce.`, { tone: 'stop' })
    this.#show({
      outcome: {
        title: 'Stopped: the agent’s phone cannot approve for you',
        text: 'The request names you, and opens only with a key of yours that is older than the request. It still waits on your phone: approve or decline it.',
      },
    })
  }

  /** Resolves when the user has answered, or no longer can. */
  async #answered(id: string): Promise<void> {
    while (await this.#options.tool.isOpen(id))
      await setTimeout(POLL_MS, undefined, { signal: this.#ended.signal, ref: false })
  }

  /** Says why the bank refuses to pay. */
  async #sayRefused(paying: Promise<string>): Promise<void> {
    const refused = await paying.catch((failure: unknown) => failure)
    if (!(refused instanceof ApprovalError)) throw refused
    const why = `${refused.code} (${refused.reasons.join(', ')})`
    this.#say('Bank', `${why}: nothing was sent.`, { tone: 'stop' })
  }

  /** Says what became of a request that nothing was paid for, and why the user declined. */
  #sayUnpaid({ state, note }: Pick<ApprovalProgress, 'state' | 'note'>): void {
    const why = note === null ? '' : ` The reason: “${note}”`
    this.#say('Bank', `${state}: nothing was sent.${why}`, { tone: 'stop' })
  }

  #endUnpaid(progress: Pick<ApprovalProgress, 'state' | 'note'>): void {
    this.#sayUnpaid(progress)
    const title = this.#view.outcome?.title ?? 'Nothing was paid'
    this.#end(title, `The request is ${progress.state}: nothing was paid.`)
  }

  #say(by: Line['by'], text: string, more: Pick<Line, 'call' | 'tone'> = {}): void {
    this.#show({ lines: [...this.#view.lines, { by, text, ...more }] })
  }

  #offer(kind: 'enroll' | 'inbox', session_id: string): void {
    this.#show({ offer: { kind, session_id, createdAtMs: Date.now() } })
  }

  #end(title: string, text: string, receipt?: ShownReceipt): void {
    const outcome = { title, text, ...(receipt && { receipt }) }
    this.#show({ outcome, offer: null, isOver: true })
  }

  #show(change: Partial<AgentView>): void {
    this.#view = { ...this.#view, ...change }
    this.#options.onChange()
  }
}

function sentenceOf(failure: unknown): string {
  if (!(failure instanceof GateError)) return 'The demo failed. Run the agent again.'
  const { code, reason = code, message, retryAfterMs = 0 } = failure
  const seconds = Math.ceil(retryAfterMs / 1_000)
  return `${reason}: ${message}${seconds > 0 ? ` Run the agent again in ${seconds} s.` : ''}`
}
