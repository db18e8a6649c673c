import { command } from '../control.ts'
import { hashOf, jcs, type Members } from '../encoding.ts'
import { assertion, newKey, type Signing, type SoftwareKey } from '../software-key.ts'

/** The service under test. */
export interface Target {
  readonly origin: string
  /** Its control adapter, which creates sessions. */
  readonly adapter: string
}

export interface Answer {
  readonly status: number
  readonly body: Members
  readonly headers: Headers
}

/** How a call differs from that of an honest phone. */
export interface Sending {
  readonly bearer?: string | undefined
  /** The body as text, in place of `body`. */
  readonly raw?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
}

/** What of an assertion is not as the protocol page says. */
export interface Tampering {
  /** Replaces members of the payload, but not of the body. */
  readonly payload?: Members
  readonly signing?: Partial<Signing>
  /** Moves `issued_at`. */
  readonly shiftMs?: number
}

export async function send(
  { origin }: Target,
  [method, path]: readonly [method: string, path: string],
  body?: Members,
  { bearer, raw, headers }: Sending = {},
): Promise<Answer> {
  const response = await fetch(`${origin}/api/v1${path}`, {
    method,
    headers: {
      ...(method !== 'GET' && { 'content-type': 'application/json' }),
      ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
      ...headers,
    },
    ...(method !== 'GET' && { body: raw ?? JSON.stringify(body ?? {}) }),
  })
  const text = await response.text()
  const parsed = text === '' ? {} : (JSON.parse(text) as Members)
  return { status: response.status, body: parsed, headers: response.headers }
}

/** Creates a session. */
export async function create(target: Target, context: Members | null = null): Promise<Members> {
  return command(target.adapter, 'create', { context })
}

/** A phone with a software key, which can send what no honest phone does. */
export class Probe {
  readonly key: SoftwareKey
  readonly device: Members
  token: string
  counter = 0
  readonly #target: Target
  #last: readonly [path: string, raw: string] = ['', '']
  #serverMs = 0
  #readAtMs = 0

  private constructor(target: Target, key: SoftwareKey, device: Members) {
    this.#target = target
    this.key = key
    this.device = device
    this.token = device['device_token']
  }

  static async register(target: Target): Promise<Probe> {
    const key = newKey()
    const { body } = await send(target, ['POST', '/devices/challenges'])
    const { challenge } = body
    const registration = { format: 'software', challenge, public_key: key.public_key }
    const { body: device } = await send(target, ['POST', '/devices'], registration)
    return new Probe(target, key, device)
  }

  call(method: string, path: string, body?: Members, sending: Sending = {}): Promise<Answer> {
    return send(this.#target, [method, path], body, { bearer: this.token, ...sending })
  }

  async claim({ session_id, nonce }: Members, sending?: Sending): Promise<Answer> {
    const { device_id } = this.device
    const path = `/sessions/${session_id}/claim`
    return this.#synced(await this.call('POST', path, { nonce, device_id }, sending))
  }

  decline({ session_id, nonce }: Members, reason = 'user_declined'): Promise<Answer> {
    const { device_id } = this.device
    return this.call('POST', `/sessions/${session_id}/decline`, { nonce, device_id, reason })
  }

  read({ session_id }: Members, nonce: string): Promise<Answer> {
    return this.call('GET', `/sessions/${session_id}?nonce=${nonce}`)
  }

  /** Requests evidence for a view. */
  evidence(view: Members, tampering: Tampering = {}): Promise<Answer> {
    const fields = this.#common(view, tampering)
    const verified_at = fields.issued_at
    const features = [{ t_ms: 0, acc_var: 0.25, gyro_var: 1e-7, handling: 1 }]
    const signals = {
      sensor_continuity: { window_ms: 2_000, features },
      local_auth: { result: 'verified', method: 'biometric', verified_at },
    }
    const members = { typ: 'bonded-evidence-request/v1', ...fields, signals: hashOf(signals) }
    return this.#sendSigned('/evidence', { ...fields, signals }, members, tampering)
  }

  /** Signs and sends the assertion of a view and its evidence. */
  attest(view: Members, evidence: Members, tampering: Tampering = {}): Promise<Answer> {
    const fields = this.#common(view, tampering)
    const { tenant_id, workflow, action, context } = view
    const members = {
      typ: 'bonded-assertion/v1',
      ...fields,
      tenant_id,
      workflow,
      action,
      origin: this.#target.origin,
      context: hashOf(context),
      evidence: hashOf(evidence),
    }
    const body = { ...fields, verified_evidence: evidence }
    return this.#sendSigned('/attestations', body, members, tampering)
  }

  /** Sends the bytes of the last signed request about a session again. */
  repeat(): Promise<Answer> {
    const [path, raw] = this.#last
    return this.call('POST', path, undefined, { raw })
  }

  /** The members of a signed request about this device. */
  about(typ: string, more: Members = {}, tampering: Tampering = {}): Members {
    const { device_id, subject_id } = this.device
    const { origin } = this.#target
    const issued_at = this.now(tampering.shiftMs)
    const members = { typ, device_id, subject_id, issued_at, origin, ...more }
    return { issued_at, app_attest: this.#sign({ ...members, ...tampering.payload }, tampering) }
  }

  now(shiftMs = 0): string {
    const elapsed = performance.now() - this.#readAtMs
    return new Date(this.#serverMs + elapsed + shiftMs).toISOString()
  }

  #common({ id: session_id, nonce }: Members, { shiftMs }: Tampering) {
    const { device_id, subject_id } = this.device
    return { session_id, nonce, device_id, subject_id, issued_at: this.now(shiftMs) }
  }

  #sendSigned(path: string, body: Members, members: Members, tampering: Tampering) {
    const app_attest = this.#sign({ ...members, ...tampering.payload }, tampering)
    this.#last = [path, JSON.stringify({ ...body, app_attest })]
    return this.repeat()
  }

  #sign(members: Members, { signing }: Tampering): Members {
    return assertion(this.key, jcs(members), { counter: ++this.counter, ...signing })
  }

  #synced(answer: Answer): Answer {
    const { server_time } = answer.body
    if (server_time !== undefined) {
      this.#serverMs = Date.parse(server_time)
      this.#readAtMs = performance.now()
    }
    return answer
  }
}
