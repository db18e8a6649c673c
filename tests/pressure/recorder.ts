import type {
  CreatedSession,
  EvidenceSignals,
  PhoneSession,
  VerifiedEvidence,
} from '@bonded/contract'
import { attestation, evidenceRequest, type TestPhone } from '../harness/phone.ts'
import type { Exchange, Reply } from './exchange.ts'
import { random } from './chance.ts'
import type { Recorded } from './linearizability.ts'
import { type Shop, SHOP_ORIGIN } from './running.ts'
import type { CallResponse, Call, NonceName, State } from './session-model.ts'

export type History = Recorded<Call, CallResponse>[]
export type Kind = 'good' | 'weak' | 'forged'

let ticks = 0
/** A clock that advances at every step, to order calls and responses. */
export const tick = (): number => ++ticks

/** What callers share: the address and the credentials. */
export interface Wire {
  readonly exchange: Exchange
  readonly shop: Shop
  /** The time of day that phones sign. */
  readonly now: () => number
}

/** A body that a phone made for POST /attestations. */
export interface Assertion {
  readonly body: object
  readonly call: Call & { do: 'attest' }
}

const SESSION_BODY = { workflow: 'w', action: 'a' }

/** One session, and every call on it as its caller saw it. */
export class RecordedSession {
  readonly history: History = []
  readonly #wire: Wire
  readonly #idempotencyKey: string
  /** The step nonces that each phone received. */
  readonly #steps = new Map<string, { name: NonceName; nonce: string }>()
  readonly session: CreatedSession

  private constructor(wire: Wire, session: CreatedSession, idempotencyKey: string) {
    this.#wire = wire
    this.session = session
    this.#idempotencyKey = idempotencyKey
  }

  static async create(
    wire: Wire,
    idempotencyKey: string = crypto.randomUUID(),
  ): Promise<RecordedSession> {
    const headers = { 'idempotency-key': idempotencyKey }
    const created = await wire.exchange('POST', '/sessions', {
      token: wire.shop.server,
      headers,
      body: SESSION_BODY,
    })
    if (created.status !== 201) throw new Error(`create answered ${created.status} ${created.text}`)
    return new RecordedSession(wire, created.body, idempotencyKey)
  }

  async claim(phone: TestPhone): Promise<void> {
    const { name, nonce } = this.#nonceOf(phone)
    const body = { nonce, device_id: phone.device_id }
    await this.#record({ do: 'claim', phone: phone.device_id, nonce: name }, moveResponse, () =>
      this.#asPhone(phone, `/sessions/${this.session.id}/claim`, body),
    )
  }

  async decline(
    phone: TestPhone,
    reason: 'user_declined' | 'user_unexpected' = 'user_declined',
  ): Promise<void> {
    const { name, nonce } = this.#nonceOf(phone)
    const body = { nonce, device_id: phone.device_id, reason }
    await this.#record(
      { do: 'decline', phone: phone.device_id, nonce: name, reason },
      moveResponse,
      () => this.#asPhone(phone, `/sessions/${this.session.id}/decline`, body),
    )
  }

  /** @returns an assertion ready to send, when the service returned evidence */
  async evidence(phone: TestPhone, kind: Kind = 'good'): Promise<Assertion | undefined> {
    const { name, nonce } = this.#nonceOf(phone)
    const view = { ...this.session, nonce } as unknown as PhoneSession
    const body = evidenceRequest(
      phone,
      view,
      signals(kind, this.#wire.now()),
      iso(this.#wire.now()),
    )
    const { counter } = phone
    const reply = await this.#record(
      { do: 'evidence', phone: phone.device_id, nonce: name, counter },
      bareResponse,
      () => this.#asPhone(phone, '/evidence', body),
    )
    return reply.status === 200
      ? this.sign(phone, { evidence: reply.body.verified_evidence, view, name, kind })
      : undefined
  }

  /** One more assertion over the same evidence, with the phone's next counter. */
  sign(
    phone: TestPhone,
    over: { evidence: VerifiedEvidence; view: PhoneSession; name: NonceName; kind: Kind },
  ): Assertion {
    const bend = over.kind === 'forged' ? { appId: 'forged' } : {}
    const body = attestation(phone, over.view, over.evidence, iso(this.#wire.now()), bend)
    const { counter } = phone
    // These values determine everything that was signed, so they identify a repetition.
    const assertion = [over.name, body.issued_at, over.evidence.signature].join(' ')
    return {
      body,
      call: {
        do: 'attest',
        phone: phone.device_id,
        nonce: over.name,
        counter,
        kind: over.kind,
        assertion,
      },
    }
  }

  async attest(phone: TestPhone, { body, call }: Assertion): Promise<void> {
    const reply = await this.#record(call, moveResponse, () =>
      this.#asPhone(phone, '/attestations', body),
    )
    if (reply.body.state !== 'step_up_required') return
    const name: NonceName = `step${3 - reply.body.step_up.attempts_left}`
    // A later response already overtook this one, so the phone ignores it.
    const known = this.#steps.get(phone.device_id)?.name ?? 'shown'
    if (known === 'shown' || name > known)
      this.#steps.set(phone.device_id, { name, nonce: reply.body.nonce })
  }

  async complete(secret: 'right' | 'wrong' = 'right'): Promise<void> {
    const shown =
      secret === 'right' ? (this.session.completion_secret ?? '') : `bcs_${'A'.repeat(43)}`
    const headers = { 'x-bond-completion-secret': shown }
    await this.#record({ do: 'complete', secret }, bareResponse, () =>
      this.#asBackend('POST', '/form-completed', headers),
    )
  }

  async kill(): Promise<void> {
    await this.#record({ do: 'kill' }, bareResponse, () => this.#asBackend('DELETE', ''))
  }

  async cancel(): Promise<void> {
    const { exchange, shop } = this.#wire
    const headers = { origin: SHOP_ORIGIN, 'x-bond-watch': this.session.watch_token }
    await this.#record({ do: 'cancel' }, viewResponse, () =>
      exchange('POST', `/sessions/${this.session.id}/cancel`, { token: shop.publishable, headers }),
    )
  }

  /** Every reader must receive the state that is stored. */
  async read(as: 'backend' | 'browser' | 'create'): Promise<void> {
    const { exchange, shop } = this.#wire
    const send = {
      backend: () => this.#asBackend('GET', ''),
      browser: () => {
        const headers = { origin: SHOP_ORIGIN, 'x-bond-watch': this.session.watch_token }
        return exchange('GET', `/sessions/${this.session.id}`, { token: shop.publishable, headers })
      },
      create: () =>
        exchange('POST', '/sessions', {
          token: shop.server,
          headers: { 'idempotency-key': this.#idempotencyKey },
          body: SESSION_BODY,
        }),
    }[as]
    await this.#record({ do: 'read', as }, viewResponse, send)
  }

  async readAsPhone(phone: TestPhone): Promise<void> {
    await this.#record({ do: 'read', as: 'phone', phone: phone.device_id }, moveResponse, () =>
      this.#wire.exchange('GET', `/sessions/${this.session.id}?nonce=${this.session.nonce}`, {
        token: phone.device_token,
      }),
    )
  }

  /** Records a change of the session that no caller caused. */
  recordChange(
    call: Call,
    { calledAt, respondedAt }: { calledAt: number; respondedAt: number },
  ): void {
    this.history.push({ call, calledAt, respondedAt, response: undefined })
  }

  #nonceOf(phone: TestPhone): { name: NonceName; nonce: string } {
    return this.#steps.get(phone.device_id) ?? { name: 'shown', nonce: this.session.nonce }
  }

  #asPhone(phone: TestPhone, path: string, body: object): Promise<Reply> {
    return this.#wire.exchange('POST', path, { token: phone.device_token, body })
  }

  #asBackend(
    method: string,
    path: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Reply> {
    return this.#wire.exchange(method, `/sessions/${this.session.id}${path}`, {
      token: this.#wire.shop.server,
      headers,
    })
  }

  async #record(
    call: Call,
    responseOf: (reply: Reply) => CallResponse,
    send: () => Promise<Reply>,
  ): Promise<Reply> {
    const [calledAt, calledOn] = [tick(), this.#wire.now()]
    try {
      const reply = await send()
      if (reply.status >= 500) throw new Error(`${call.do} answered ${reply.status} ${reply.text}`)
      const response = responseOf(reply)
      // The response to a move follows the commit. When the session expires in between, the
      // response says so.
      const late = call.do !== 'read' && response.state === 'expired' && this.#wire.now() > calledOn
      this.history.push({
        call,
        calledAt,
        respondedAt: tick(),
        response: late ? { seq: response.seq as number } : response,
      })
      return reply
    } catch (failure) {
      // A read without a response shows nothing and changes nothing.
      if (call.do !== 'read')
        this.history.push({
          call,
          calledAt,
          respondedAt: Number.POSITIVE_INFINITY,
          response: undefined,
        })
      throw failure
    }
  }
}

const iso = (at: number) => new Date(at).toISOString()

function signals(kind: Kind, now: number): EvidenceSignals {
  const verified = kind !== 'weak'
  // Each age differs, so that two requests of one phone lead to two assertions.
  const age = 1 + random(10_000)
  return {
    local_auth: {
      result: verified ? 'verified' : 'failed',
      method: verified ? 'biometric' : 'none',
      verified_at: iso(now - age),
    },
  }
}

function bareResponse({ status, body }: Reply): CallResponse {
  return status >= 400 ? { rejected: body.error.reason } : {}
}

function moveResponse(reply: Reply): CallResponse {
  const { state, seq } = reply.body as { state: State; seq: number }
  return reply.status >= 400 ? bareResponse(reply) : { state, seq }
}

function viewResponse(reply: Reply): CallResponse {
  const { hint, ended_reason, verification } = reply.body
  return reply.status >= 400
    ? bareResponse(reply)
    : { ...moveResponse(reply), hint, endedReason: ended_reason, proved: verification !== null }
}
