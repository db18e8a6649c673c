import { createSimulatedPhone, inboxLink, type SimulatedPhone } from '@bonded/simulator'

/** What the colleague needs of the bank. */
interface Bank {
  startEnrollment(): Promise<{ readonly id: string; readonly universal_link: string }>
  enroll(sessionId: string): Promise<string>
}

/** The second user of a payment of two, whom the demo plays, with a phone in its memory. */
export class Colleague {
  /** The user, as the bank knows them. */
  readonly ref: string
  readonly #phone: SimulatedPhone

  private constructor(ref: string, phone: SimulatedPhone) {
    this.ref = ref
    this.#phone = phone
  }

  static async enroll(bank: Bank, origin: string): Promise<Colleague> {
    const phone = createSimulatedPhone({ origin })
    const { id, universal_link } = await bank.startEnrollment()
    await phone.run(universal_link, 'approve')
    return new Colleague(await bank.enroll(id), phone)
  }

  async approve(): Promise<void> {
    await (await this.#open()).approve({ evidence: () => 'carried' })
  }

  async decline(note: string): Promise<void> {
    await (await this.#open()).decline('user_declined', { note })
  }

  /** Opens the newest request of the inbox. */
  async #open() {
    const { items } = await (await this.#phone.inbox()).open()
    const [newest] = items
    if (newest === undefined) throw new Error('the inbox of the colleague is empty')
    return this.#phone.scan(inboxLink(newest))
  }
}
