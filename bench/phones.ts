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
import type { Ready } from './process.ts'

/** One session on its way to a bond, and its phone. */
export interface Bond {
  readonly phone: TestPhone
  readonly created: CreatedSession
  view?: PhoneSession
  evidence?: VerifiedEvidence
}

/** The calls of the service, each with its caller's credential. */
export class ServiceCalls {
  readonly #port: number
  readonly #credential: string

  constructor({ port, credential }: Ready) {
    this.#port = port
    this.#credential = credential
  }

  async enrol(): Promise<TestPhone> {
    const challenge = await this.challenge()
    const { public_key, privateKey } = newKey()
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

  /** @param options.short without the motion of a minute, as a phone without sensors sends it */
  async fetchEvidence(bond: Bond, { short = false } = {}): Promise<void> {
    const { phone } = bond
    const view = viewOf(bond)
    const { local_auth, ...sensors } = carriedSignals(Date.parse(view.server_time))
    const signals = short ? { local_auth } : { local_auth, ...sensors }
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
    const headers = {
      authorization: `Bearer ${phone.device_token}`,
      'content-type': 'application/json',
    }
    const response = await send({
      port: this.#port,
      method: 'POST',
      path: '/api/v1/attestations',
      headers,
      payload,
    })
    const { state } = JSON.parse(response) as PhoneSession
    if (state !== 'bonded') throw new Error(`the session ended as ${state}`)
    return response
  }

  get({ created }: Bond): Promise<PhoneSession> {
    return this.#call('GET', `/sessions/${created.id}`, { token: this.#credential })
  }

  async #call<T>(
    method: string,
    path: string,
    { token, body }: { token?: string; body?: object } = {},
  ): Promise<T> {
    const headers: Record<string, string> = {}
    if (token !== undefined) headers.authorization = `Bearer ${token}`
    if (body !== undefined) headers['content-type'] = 'application/json'
    const payload = body === undefined ? {} : { payload: canonicalJson(body) }
    return JSON.parse(
      await send({ port: this.#port, method, path: `/api/v1${path}`, headers, ...payload }),
    ) as T
  }
}

/** These phones claim a session to learn what to sign. */
export function viewOf({ view, created }: Bond): PhoneSession {
  if (view === undefined) throw new Error('the session has not been claimed')
  return { ...view, id: created.id }
}
