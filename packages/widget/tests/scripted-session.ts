import { randomBytes } from 'node:crypto'

/** The initial state of a session of the scripted worker. */
export interface SessionScript {
  readonly qrContent?: 'app_scheme' | 'universal_link'
  readonly tenantName?: string
  readonly tenantLogo?: string
  readonly workflow?: string
  readonly action?: string
  readonly expiresInMs?: number
  readonly rotatesInMs?: number
}

type Json = Record<string, unknown>
const secret = () => randomBytes(32).toString('base64url')
const letters = (length: number) =>
  randomBytes(length * 2)
    .toString('base64')
    .replace(/[^0-9A-Za-z]/g, '')
    .slice(0, length)

/** A session as the protocol presents it to a browser. The test moves it instead of a phone. */
export class ScriptedSession {
  readonly id = `sess_${letters(22)}`
  readonly watchToken = `bwt_${secret()}`
  state = 'pending'
  hint: string | null = 'waiting_for_scan'
  endedReason: string | null = null
  seq = 1
  nonce = secret()
  readonly #origin: string
  readonly #script: SessionScript
  readonly #listeners = new Set<(frame: Json) => void>()

  constructor(origin: string, script: SessionScript) {
    this.#origin = origin
    this.#script = script
  }

  /** What the QR code encodes. */
  get payload(): string {
    return this.#script.qrContent === 'universal_link' ? this.universalLink : this.#appLink
  }

  get #appLink(): string {
    return `pulse://bond?session_id=${this.id}&nonce=${this.nonce}`
  }

  get universalLink(): string {
    return `${this.#origin}/bond?session_id=${this.id}&nonce=${this.nonce}`
  }

  /** What the worker returns to a browser, and what a backend returns to its page. */
  view(): Json {
    const { expiresInMs = 300_000 } = this.#script
    const now = Date.now()
    return {
      id: this.id,
      state: this.state,
      ...this.#challenge(),
      api_base_url: this.#origin,
      websocket_url: `${this.#origin.replace('http', 'ws')}/sessions/${this.id}`,
      challenge_expires_at: new Date(now + 120_000).toISOString(),
      expires_at: new Date(now + expiresInMs).toISOString(),
      workflow: this.#script.workflow ?? 'credit_application',
      action: this.#script.action ?? 'submit_application',
      tenant_name: this.#script.tenantName ?? 'Kestrel Bank',
      tenant_logo_url: this.#script.tenantLogo ?? null,
      tenant_id: `ten_${'t'.repeat(22)}`,
      server_time: new Date(now).toISOString(),
      expires_in_ms: this.#live() ? expiresInMs : 0,
      seq: this.seq,
      verification: null,
      watch_token: this.watchToken,
      hint: this.hint,
      ended_reason: this.endedReason,
    }
  }

  hello(): Json {
    const { watch_token: _, ...data } = this.view()
    return this.frame('hello', { ...data, heartbeat_ms: 25_000 })
  }

  frame(type: string, data: Json): Json {
    const { expires_in_ms } = this.view()
    return {
      v: 1,
      seq: this.seq,
      type,
      session_id: this.id,
      state: this.state,
      hint: this.hint,
      at: new Date().toISOString(),
      expires_in_ms,
      data,
    }
  }

  rotate(): void {
    this.nonce = secret()
    this.send(this.frame('challenge', this.#challenge()))
  }

  hinted(hint: string): void {
    this.hint = hint
    this.seq += 1
    this.send(this.frame('hint', {}))
  }

  moved(state: string, endedReason: string | null = null): void {
    this.state = state
    this.hint = null
    this.endedReason = endedReason
    this.seq += 1
    this.send(this.frame('state', { ended_reason: endedReason }))
  }

  send(frame: Json): void {
    for (const listener of this.#listeners) listener(frame)
  }

  /** Calls the listener with every frame until the returned function is called. */
  listen(listener: (frame: Json) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #live(): boolean {
    return ['pending', 'step_up_required', 'bonded'].includes(this.state)
  }

  #challenge(): Json {
    const rotatesInMs = this.#live() ? (this.#script.rotatesInMs ?? 60_000) : 0
    return {
      nonce: this.nonce,
      qr_payload: this.#appLink,
      universal_link: this.universalLink,
      qr_svg_url: `/v1/sessions/${this.id}/qr.svg?nonce=${this.nonce}`,
      qr_content: this.#script.qrContent ?? 'app_scheme',
      challenge_rotates_in_ms: rotatesInMs,
      challenge_expires_in_ms: rotatesInMs * 2,
    }
  }
}
