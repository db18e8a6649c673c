import type { SessionId, SessionState } from '@bonded/contract'

/** What a request asks of a session. A state is the one that it would lead to. */
export type Act = 'create' | 'claim' | 'evidence' | 'attest' | 'decline' | 'complete' | 'kill'

/** A success that a client received. */
export interface Acknowledgment {
  readonly requestId: string
  readonly act: Act
}

/** A state of a session that a client received, in a response or in a frame. */
export interface Sighting {
  readonly seq: number
  readonly state: SessionState
  /** The kind of the event with this `seq`, if the client received the event itself. */
  readonly kind?: string
}

/** Everything that clients know about one session. */
export interface SessionRecord {
  /** What each request asked for, by its id, whether or not it got a response. */
  readonly sent: Map<string, Act>
  readonly acknowledged: Acknowledgment[]
  readonly sightings: Sighting[]
}

/** The clients' record of a run, to be compared with what is stored at its end. */
export class Ledger {
  readonly sessions = new Map<SessionId, SessionRecord>()
  /** The requests of each Idempotency-Key, and the session that the service returned. */
  readonly #creates = new Map<string, { readonly requestIds: string[]; id?: SessionId }>()
  /** The highest counter of each device whose assertion the service accepted. */
  readonly counters = new Map<string, number>()
  acknowledged = 0
  delivered = 0
  /** Requests whose response was lost, or that the service could not perform. */
  withoutResponse = 0
  /** Keys that led to two sessions. */
  readonly twice: string[] = []

  /** Records a create before it is sent. The first of several requests may be the one that acts. */
  creating(key: string, requestId: string): void {
    const create = this.#creates.get(key) ?? { requestIds: [] }
    create.requestIds.push(requestId)
    this.#creates.set(key, create)
  }

  /** Records the response to a create. One key must always lead to the same session. */
  created(key: string, id: SessionId): void {
    const create = this.#creates.get(key)
    if (create === undefined) throw new Error(`no request has sent the Idempotency-Key ${key}`)
    if (create.id !== undefined && create.id !== id) this.twice.push(key)
    create.id = id
    for (const requestId of create.requestIds) this.sent(id, requestId, 'create')
  }

  sent(id: SessionId, requestId: string, act: Act): void {
    this.#of(id).sent.set(requestId, act)
  }

  acknowledge(id: SessionId, acknowledgment: Acknowledgment): void {
    this.acknowledged += 1
    this.#of(id).acknowledged.push(acknowledgment)
  }

  saw(id: SessionId, sighting: Sighting): void {
    if (sighting.kind !== undefined) this.delivered += 1
    this.#of(id).sightings.push(sighting)
  }

  accepted(deviceId: string, counter: number): void {
    this.counters.set(deviceId, Math.max(counter, this.counters.get(deviceId) ?? 0))
  }

  #of(id: SessionId): SessionRecord {
    const record = this.sessions.get(id) ?? { sent: new Map(), acknowledged: [], sightings: [] }
    this.sessions.set(id, record)
    return record
  }
}
