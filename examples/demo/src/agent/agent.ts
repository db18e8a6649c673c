import type { DemoOptions } from '../demo.ts'
import { SOFTWARE_PHONE_PATHS } from '../phone/software-phone.ts'
import { AgentRun, type AgentView, IDLE, type Trick } from './agent-run.ts'
import { PaymentTool } from './payment-tool.ts'

/** A scripted agent in a terminal that pays an invoice with a tool of the bank. */
export class Agent implements Disposable {
  readonly #options: DemoOptions & { readonly onChange: () => void }
  #tool: PaymentTool | undefined
  #run: AgentRun | undefined

  constructor(options: DemoOptions & { readonly onChange: () => void }) {
    this.#options = options
  }

  get view(): AgentView {
    return this.#run?.view ?? IDLE
  }

  /**
   * Begins a run, which replaces the one before. Returns its name.
   *
   * @param subject the user of an earlier run, if the page remembers one
   */
  start(trick: Trick, subject: string | null): string {
    this[Symbol.dispose]()
    const tool = (this.#tool ??= new PaymentTool(this.#options))
    this.#run = new AgentRun({ ...this.#options, tool, subject })
    void this.#run.start(trick)
    return this.#run.view.run
  }

  /** What the phone opens now. Undefined if nothing waits. */
  async open(): Promise<{ readonly session_id: string; readonly link: string } | undefined> {
    const { offer } = this.view
    if (offer === null) return undefined
    const { session_id } = offer
    if (offer.kind === 'inbox')
      return { session_id, link: this.#options.serviceOrigin + SOFTWARE_PHONE_PATHS.inbox }
    const code = await this.#options.sandbox.newestCode()
    return code?.session_id === session_id ? { session_id, link: code.link } : undefined
  }

  [Symbol.dispose](): void {
    this.#run?.[Symbol.dispose]()
  }
}
