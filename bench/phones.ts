import {
  canonicalJson,
  type CreatedSession,
  type PhoneSession,
  type VerifiedEvidence,
} from '@bonded/contract'
import {
  attestation,
  carriedSignals,
  evidenceRequest,
  newKey,
  type TestPhone,
} from '../tests/harness/phone.ts'
import { send } from './http-calls.ts'

/** One session on its way to a bond, and its phone. */
export interface Bond {
  readonly phone: TestPhone
  readonly created: CreatedSession
  view?: PhoneSession
  evidence?: VerifiedEvidence
}

interface Given {
  readonly token?: string
  readonly secret?: string
  readonly payload?: string
}

/** A call that succeeded. */
export interface DoneCall {
  readonly method: string
  readonly path: string
  readonly ms: number
  readonly response: string
}

/** The calls of the service, each with its caller's credential. */
export class ServiceCalls {
  readonly #nextPort: () => number
  readonly #credential: string
  readonly #onDone: (call: DoneCall) => void
  readonly #sendCall: typeof send

  /**
   * @param of.port a function where several nodes take the calls in turns
   * @param of.send by default one that repeats a call that the service sheds
   */
  constructor(
    of: {
      readonly port: number | (() => number)
      readonly credential: string
      readonly send?: typeof send
    },
    onDone: (call: DoneCall) => void = () => {},
  ) {
    const { port, credential } = of
    this.#nextPort = typeof port === 'number' ? () => port : port
    this.#credential = credential
    this.#sendCall = of.send ?? send
    this.#onDone = onDone
  }

  async enrol({ public_key, privateKey } = newKey()): Promise<TestPhone> {
    const challenge = await this.challenge()
    const body = { format: 'software', challenge, public_key }
    return {
      ...(await this.#call<Omit<TestPhone, 'counter' | 'privateKey'>>('POST', '/devices', {
        body,
      })),
      privateKey,
      counter: 0,
    }
  }

  /** The arguments of a key registration. */
  async challenge(): Promise<string> {
    return (await this.#call<{ challenge: string }>('POST', '/devices/challenges')).challenge
  }

  async create(phone: TestPhone): Promise<Bond> {
    return {
      phone,
      created: await this.#call('POST', '/sessions', {
        token: this.#credential,
        body: { workflow: 'w', action: 'a' },
      }),
    }
  }

  async claim(bond: Bond): Promise<void> {
    const { phone, created } = bond
    const body = { nonce: created.nonce, device_id: phone.device_id }
    bond.view = await this.#call('POST', `/sessions/${created.id}/claim`, {
      token: phone.device_token,
      body,
    })
  }

  async fetchEvidence(bond: Bond): Promise<void> {
    const { phone } = bond
    const view = viewOf(bond)
    const signals = carriedSignals(Date.parse(view.server_time))
    const body = evidenceRequest(phone, view, signals, view.server_time)
    bond.evidence = (
      await this.#call<{ verified_evidence: VerifiedEvidence }>('POST', '/evidence', {
        token: phone.device_token,
        body,
      })
    ).verified_evidence
  }

  /**
   * The signed body of the attestation. A phone signs one at a time, because its counter rises.
   *
   * @param issuedAt by default the time of the claim
   */
  sign(bond: Bond, issuedAt = viewOf(bond).server_time): string {
    if (bond.evidence === undefined) throw new Error('the session has no evidence')
    return canonicalJson(attestation(bond.phone, viewOf(bond), bond.evidence, issuedAt))
  }

  async attest({ phone }: Bond, payload: string): Promise<string> {
    const token = phone.device_token
    const response = await this.#send('POST', '/attestations', { token, payload })
    const { state } = JSON.parse(response) as PhoneSession
    if (state !== 'bonded') throw new Error(`the session ended as ${state}`)
    return response
  }

  get({ created }: Bond): Promise<PhoneSession> {
    return this.#call('GET', `/sessions/${created.id}`, { token: this.#credential })
  }

  complete({ created: { id, completion_secret } }: Bond): Promise<PhoneSession> {
    const given = { token: this.#credential, secret: completion_secret }
    return this.#call('POST', `/sessions/${id}/form-completed`, given)
  }

  async #call<T>(method: string, path: string, { body, ...given }: Given & { body?: object } = {}) {
    const payload = body && { payload: canonicalJson(body) }
    return JSON.parse(await this.#send(method, path, { ...given, ...payload })) as T
  }

  async #send(method: string, path: string, { token, secret, payload }: Given): Promise<string> {
    const headers: Record<string, string> = {}
    if (token !== undefined) headers.authorization = `Bearer ${token}`
    if (secret !== undefined) headers['x-bond-completion-secret'] = secret
    if (payload !== undefined) headers['content-type'] = 'application/json'
    const began = performance.now()
    const response = await this.#sendCall({
      port: this.#nextPort(),
      method,
      path: `/api/v1${path}`,
      headers,
      ...(payload !== undefined && { payload }),
    })
    this.#onDone({ method, path, ms: performance.now() - began, response })
    return response
  }
}

/** These phones claim a session to learn what to sign. */
export function viewOf({ view, created }: Bond): PhoneSession {
  if (view === undefined) throw new Error('the session has not been claimed')
  return { ...view, id: created.id }
}
