import { hash, randomBytes } from 'node:crypto'
import { browserPayload } from '@bonded/contract'
import { createAuthenticator } from '@bonded/simulator'
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

/** What the bank requires: a bond of the phone alone, or of the browser too. */
export const PROTECTIONS = ['phone', 'browser'] as const
export type Protection = (typeof PROTECTIONS)[number]

/** What the relaying page shows. */
export interface RelayView {
  /** `asking`: the phone has approved, and the page asks its own browser for the passkey. */
  readonly stage: 'idle' | 'waiting' | 'asking' | 'over' | 'failed'
  readonly protection: Protection
  /** Changes with every new QR code. */
  readonly qrVersion: number
  /** The attempts of both runs, side by side. */
  readonly attempts: Readonly<Record<Protection, readonly Attempt[]>>
}

export interface AttackerOptions {
  readonly bankOrigin: string
  readonly serviceOrigin: string
  readonly publishableKey: string
  readonly workflow: string
  readonly browserWorkflow: string
  readonly activity: Activity
  readonly onChange: () => void
}

interface PublicSession {
  readonly id: string
  readonly state: string
  readonly hint: string | null
  readonly tenant_id: string
  readonly workflow: string
  readonly action: string
  readonly watch_token: string
  readonly qr_svg_url: string
}

const IDLE: RelayView = {
  stage: 'idle',
  protection: 'phone',
  qrVersion: 0,
  attempts: { phone: [], browser: [] },
}

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
  async start(victim: string, protection: Protection): Promise<PublicSession | undefined> {
    this[Symbol.dispose]()
    this.#session = undefined
    // The run against the bond stays beside the run against the bonded browser.
    const { phone } = this.#view.attempts
    const attempts = { phone: protection === 'browser' ? phone : [], browser: [] }
    this.#show({ ...IDLE, protection, attempts })
    this.#victim = victim
    const { workflow, browserWorkflow } = this.#options
    const { bankOrigin, activity } = this.#options
    try {
      const page = await this.#fetch(bankOrigin)
      this.#cookie = page.headers.get('set-cookie')?.split(';', 1)[0] ?? ''
      await this.#post('/drafts', { name: victim, ...FORGED })
      const response = await this.#post('/bond-session', {
        workflow: protection === 'browser' ? browserWorkflow : workflow,
      })
      if (response.status !== 201) throw new Error(`the bank answered ${response.status}`)
      this.#session = response.body as unknown as PublicSession
    } catch {
      this.#show({ ...this.#view, stage: 'failed' })
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

  /** Records that the service rejected the bank’s widget on the relaying page. */
  recordWidget(reason: string): void {
    if (this.#session === undefined || this.#view.stage !== 'idle') return
    this.#addAttempt({
      what: 'The bank’s own widget on this page',
      isStopped: true,
      result: `refused (${reason}): the service draws no QR code for this address`,
    })
  }

  /** Copies the picture of the QR code from the bank’s page. */
  async copyCode(): Promise<void> {
    if (this.#session === undefined || this.#view.stage !== 'idle') return
    this.#show({ ...this.#view, stage: 'waiting', qrVersion: 1 })
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
      if (session.hint === 'browser') {
        this[Symbol.dispose]()
        return this.#show({ ...this.#view, stage: 'asking' })
      }
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

  /**
   * Records what the victim’s browser said when this page asked it for the passkey, tries a passkey
   * of the attacker, and submits the application without the proof.
   */
  async useOwnPasskey(reason: string): Promise<void> {
    const session = this.#session
    if (session === undefined || this.#view.stage !== 'asking') return
    this.#show({ ...this.#view, stage: 'waiting' })
    this.#addAttempt({
      what: 'The fake page asks your browser for the passkey',
      isStopped: true,
      result: `refused by the browser (${reason}): the passkey belongs to another address`,
    })
    const { status, body } = await this.#sendProof(session)
    const { error } = body as { error?: { reason?: string } }
    this.#addAttempt({
      what: 'The attacker confirms with a passkey of its own',
      isStopped: status !== 200,
      result:
        status === 200
          ? 'accepted'
          : `refused by the service (${error?.reason ?? status}): it is not the phone’s`,
    })
    await this.#submit(session)
  }

  async #sendProof(session: PublicSession) {
    const { serviceOrigin, bankOrigin, publishableKey } = this.#options
    const { id: session_id, tenant_id, workflow, action, watch_token } = session
    const commitment = hash('sha256', randomBytes(32), 'base64url')
    const fields = { session_id, tenant_id, workflow, action, origin: bankOrigin, commitment }
    const assertion = createAuthenticator({ origin: bankOrigin }).confirm(
      browserPayload(fields),
      bankOrigin,
    )
    const response = await this.#fetch(`${serviceOrigin}/api/v1/sessions/${session_id}/browser`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${publishableKey}`,
        'x-bond-watch': watch_token,
        origin: bankOrigin,
      },
      body: JSON.stringify({ commitment, assertion }),
    })
    return { status: response.status, body: (await response.json()) as object }
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
    const { protection, attempts } = this.#view
    const added = [...attempts[protection], attempt]
    this.#show({ ...this.#view, attempts: { ...attempts, [protection]: added } })
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
