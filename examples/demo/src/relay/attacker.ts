import type { Activity } from '../activity/activity.ts'

/** How often the attacker reads the session, as its own browser would. */
const POLL_MS = 700
/** A call that takes longer has failed. */
const CALL_TIMEOUT_MS = 5_000
/** What the attacker applies for in the name of the victim. */
const FORGED = { amount: '50000', purpose: 'other', term: '84', income: '3200' }
/** What the attacker tries first, in the hope that the bank does not compare. */
const CHANGED_AFTER_APPROVAL = { ...FORGED, amount: '49000' }

/** One attempt of the attacker, and its end. */
export interface Attempt {
  readonly what: string
  readonly isStopped: boolean
  readonly result: string
}

/** What the relaying page shows. */
export interface RelayView {
  readonly stage: 'idle' | 'waiting' | 'over' | 'failed'
  /** Changes with every new QR code. */
  readonly qrVersion: number
  readonly attempts: readonly Attempt[]
}

export interface AttackerOptions {
  readonly bankOrigin: string
  readonly serviceOrigin: string
  readonly publishableKey: string
  readonly activity: Activity
  readonly onChange: () => void
}

interface PublicSession {
  readonly id: string
  readonly state: string
  readonly workflow: string
  readonly action: string
  readonly watch_token: string
  readonly qr_svg_url: string
}

const IDLE: RelayView = { stage: 'idle', qrVersion: 0, attempts: [] }

/**
 * A live relay. It applies at the bank with its own browser, and shows the QR code of that
 * application to a victim. It uses only what any visitor of the bank can see.
 */
export class Attacker implements Disposable {
  readonly #options: AttackerOptions
  #view: RelayView = IDLE
  #cookie = ''
  #session: PublicSession | undefined
  #victim = ''
  #polling: NodeJS.Timeout | undefined

  constructor(options: AttackerOptions) {
    this.#options = options
  }

  get view(): RelayView {
    return this.#view
  }

  /**
   * Applies at the bank in the name of the victim. Returns the session as the bank’s page has it.
   */
  async start(victim: string): Promise<PublicSession | undefined> {
    this[Symbol.dispose]()
    this.#session = undefined
    this.#show(IDLE)
    this.#victim = victim
    const { bankOrigin, activity } = this.#options
    try {
      const page = await this.#fetch(bankOrigin)
      this.#cookie = page.headers.get('set-cookie')?.split(';', 1)[0] ?? ''
      await this.#post('/drafts', { name: victim, ...FORGED })
      const response = await this.#post('/bond-session', {})
      if (response.status !== 201) throw new Error(`the bank answered ${response.status}`)
      this.#session = response.body as unknown as PublicSession
    } catch {
      this.#show({ ...IDLE, stage: 'failed' })
      return undefined
    }
    activity.add({
      actor: 'Attacker',
      call: 'POST /bond-session',
      text: 'applies for €50,000 at the bank in the name of the victim',
      result: 'accepted',
      tone: 'stop',
    })
    return this.#session
  }

  /** Records that the service rejected the bank’s widget here, and copies the QR code instead. */
  async copyCode(reason: string): Promise<void> {
    if (this.#session === undefined || this.#view.stage !== 'idle') return
    this.#show({ stage: 'waiting', qrVersion: 1, attempts: [] })
    this.#addAttempt({
      what: 'The bank’s own widget on this page',
      isStopped: true,
      result: `refused (${reason}): the service draws no QR code for this address`,
    })
    this.#polling = setInterval(() => void this.#poll(), POLL_MS).unref()
    await this.#poll()
  }

  /** The picture of the current QR code, as the attacker copies it. */
  async picture(): Promise<string | undefined> {
    const url = this.#session?.qr_svg_url
    if (url === undefined || this.#view.stage !== 'waiting') return undefined
    const response = await this.#fetch(this.#options.serviceOrigin + url).catch(() => undefined)
    return response?.ok === true ? response.text() : undefined
  }

  [Symbol.dispose](): void {
    clearInterval(this.#polling)
    this.#polling = undefined
  }

  async #poll(): Promise<void> {
    const { serviceOrigin, bankOrigin, publishableKey } = this.#options
    const known = this.#session
    if (known === undefined) return
    try {
      const response = await this.#fetch(`${serviceOrigin}/api/v1/sessions/${known.id}`, {
        headers: {
          authorization: `Bearer ${publishableKey}`,
          'x-bond-watch': known.watch_token,
          // The attacker's own browser really is on the bank's page.
          origin: bankOrigin,
        },
      })
      if (!response.ok || this.#session !== known || this.#polling === undefined) return
      const session = (await response.json()) as PublicSession
      this.#session = session
      if (session.state !== 'pending' && session.state !== 'step_up_required') {
        this[Symbol.dispose]()
        return await this.#submit(session)
      }
      if (session.qr_svg_url !== known.qr_svg_url)
        this.#show({ ...this.#view, qrVersion: this.#view.qrVersion + 1 })
    } catch {
      // The service may be restarting. The next poll tries again.
    }
  }

  /** Submits the application: first changed, then as the victim approved it. */
  async #submit({ id, state }: PublicSession): Promise<void> {
    const session_id = id
    if (state === 'bonded')
      await this.#tryToSubmit('sends the approved application with another amount', {
        ...CHANGED_AFTER_APPROVAL,
        session_id,
      })
    await this.#tryToSubmit('sends the application as the phone showed it', {
      ...FORGED,
      session_id,
    })
    this.#show({ ...this.#view, stage: 'over' })
  }

  async #tryToSubmit(what: string, fields: object): Promise<void> {
    const { status, body } = await this.#post('/applications', { name: this.#victim, ...fields })
    const isStopped = status !== 201
    const { error } = body as { error?: { reason?: string } }
    const result = isStopped
      ? `refused by the bank’s gate (${error?.reason ?? status})`
      : 'accepted: a bond does not prove which page the user looked at'
    this.#addAttempt({ what: `The attacker ${what}`, isStopped, result })
    this.#options.activity.add({
      actor: 'Attacker',
      call: 'POST /applications',
      text: what,
      result: isStopped ? `refused: ${error?.reason ?? status}` : 'accepted',
      tone: 'stop',
    })
  }

  #addAttempt(attempt: Attempt): void {
    this.#show({ ...this.#view, attempts: [...this.#view.attempts, attempt] })
  }

  async #post(path: string, fields: object) {
    const response = await this.#fetch(this.#options.bankOrigin + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', cookie: this.#cookie },
      body: JSON.stringify(fields),
    })
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }

  #fetch(url: string, init: RequestInit = {}): Promise<Response> {
    return fetch(url, { ...init, signal: AbortSignal.timeout(CALL_TIMEOUT_MS) })
  }

  #show(view: RelayView): void {
    this.#view = view
    this.#options.onChange()
  }
}
