import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { CreatedSession, PhoneSession, VerifiedEvidence } from '@bonded/contract'
import { WebSocket } from 'ws'
import type { Clock } from '../../packages/core/src/ports/clock.ts'
import { attestation, evidenceRequest, type TestPhone } from '../harness/phone.ts'
import type { Exchange, Reply } from './exchange.ts'
import { SHOP_ORIGIN, type Shop } from './running.ts'

/** What the callers of a test need. It changes while keys are rotated. */
export interface Site {
  readonly exchange: Exchange
  readonly clock: Clock
  /** The keys of the tenant, as its backend and its page have them now. */
  readonly shop: Shop
  readonly port: number
  /** Callers wait for the service while it restarts, as clients do. */
  readonly up: Promise<void>
}

/** Calls again when the response was lost, because the service restarted in between. */
async function untilAccepted(site: Site, send: () => Promise<Reply>): Promise<Reply> {
  for (;;) {
    await site.up
    try {
      const reply = await send()
      if (reply.status !== 503) return reply
    } catch {
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
}

/** A call that must succeed. */
export async function ok(site: Site, send: () => Promise<Reply>): Promise<Reply> {
  const reply = await untilAccepted(site, send)
  assert.ok(reply.status < 300, `${reply.status} ${reply.text}`)
  return reply
}

const localAuth = (verifiedAt: string) => ({
  local_auth: {
    result: 'verified' as const,
    method: 'biometric' as const,
    verified_at: verifiedAt,
  },
})

/** One session through its states, one step at a time. */
export class Journey {
  readonly phone: TestPhone
  readonly #site: Site
  readonly #key = crypto.randomUUID()
  session!: CreatedSession
  evidence!: VerifiedEvidence
  #assertion: object | undefined

  constructor(site: Site, phone: TestPhone) {
    this.#site = site
    this.phone = phone
  }

  async create(): Promise<this> {
    this.session = (await this.createAgain()).body
    return this
  }

  createAgain(): Promise<Reply> {
    return this.#ok(() =>
      this.#site.exchange('POST', '/sessions', {
        ...this.#backend(),
        headers: { 'idempotency-key': this.#key },
        body: { workflow: 'w', action: 'a' },
      }),
    )
  }

  async claim(): Promise<this> {
    await this.#ok(() =>
      this.#phone(`/sessions/${this.session.id}/claim`, {
        nonce: this.session.nonce,
        device_id: this.phone.device_id,
      }),
    )
    return this
  }

  async prove(): Promise<this> {
    // Signed anew at each attempt, because the service accepts a counter once.
    const reply = await this.#ok(() =>
      this.#phone(
        '/evidence',
        evidenceRequest(this.phone, this.#view(), localAuth(this.#iso()), this.#iso()),
      ),
    )
    this.evidence = reply.body.verified_evidence
    return this
  }

  async bond(): Promise<this> {
    this.#assertion ??= attestation(this.phone, this.#view(), this.evidence, this.#iso())
    const body = this.#assertion
    const reply = await this.#ok(() => this.#phone('/attestations', body))
    assert.equal(reply.body.state, 'bonded', reply.text)
    return this
  }

  /** Watches as a browser does, by HTTP and on the channel. */
  async watch(): Promise<this> {
    const headers = { origin: SHOP_ORIGIN, 'x-bond-watch': this.session.watch_token }
    await this.#ok(() =>
      this.#site.exchange('GET', `/sessions/${this.session.id}`, {
        token: this.#site.shop.publishable,
        headers,
      }),
    )
    const socket = new WebSocket(`ws://127.0.0.1:${this.#site.port}/sessions/${this.session.id}`, [
      'bonded.v1',
      `watch.${this.session.watch_token}`,
    ])
    const [hello] = await once(socket, 'message')
    assert.equal(JSON.parse(String(hello)).type, 'hello')
    socket.terminate()
    return this
  }

  async complete(): Promise<string> {
    const full = (
      await this.#ok(() =>
        this.#site.exchange('GET', `/sessions/${this.session.id}`, this.#backend()),
      )
    ).body
    const headers = { 'x-bond-completion-secret': this.session.completion_secret ?? '' }
    await this.#ok(() =>
      this.#site.exchange('POST', `/sessions/${this.session.id}/form-completed`, {
        ...this.#backend(),
        headers,
      }),
    )
    return full.subject_ref
  }

  #ok(send: () => Promise<Reply>): Promise<Reply> {
    return ok(this.#site, send)
  }

  #backend() {
    return { token: this.#site.shop.server }
  }

  #iso(): string {
    return new Date(this.#site.clock.now()).toISOString()
  }

  #phone(path: string, body: object): Promise<Reply> {
    return this.#site.exchange('POST', path, { token: this.phone.device_token, body })
  }

  #view(): PhoneSession {
    return this.session as unknown as PhoneSession
  }
}

/**
 * Users who keep bonding while the service restarts. Any failure of theirs fails the test.
 *
 * @param pace delays the next lifecycle of a user
 */
export function load(
  site: Site,
  phones: readonly TestPhone[],
  pace: () => Promise<void> = async () => {},
) {
  const closing = new AbortController()
  let bonds = 0
  let reached = { count: Number.POSITIVE_INFINITY, notify: () => {} }
  const subjects = new Map<TestPhone, Set<string>>()
  const callers = phones.map(async (phone) => {
    while (!closing.signal.aborted) {
      await pace()
      const journey = await (
        await (await (await new Journey(site, phone).create()).claim()).prove()
      ).bond()
      const names = subjects.get(phone) ?? new Set()
      subjects.set(phone, names.add(await journey.complete()))
      bonds += 1
      if (bonds >= reached.count) reached.notify()
    }
  })
  const all = Promise.all(callers)
  return {
    subjects,
    /** Waits for so many more bonds, or for the failure of a caller. */
    async more(count: number): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>()
      reached = { count: bonds + count, notify: resolve }
      await Promise.race([promise, all])
    },
    async stop(): Promise<void> {
      closing.abort()
      await all
    },
  }
}
