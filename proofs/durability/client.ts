import { randomBytes } from 'node:crypto'
import { type ResponseLike, CHANNEL_PROTOCOL, type CreatedSession, makeId } from '@bonded/contract'
import { WATCH_PREFIX, type SessionId, type SessionState } from '@bonded/contract'
import type { Act, Ledger } from './ledger.ts'

/** A call may outlast the restart of a node, but not the run. */
const RESPONSE_WITHIN_MS = 15_000
const COUNTER_BYTES = 4

/** A request of the run. `path` starts with `/api/v1`. */
export interface Request {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | undefined
}

/**
 * Sends requests to any node and records in the ledger what it asked for and what was acknowledged.
 */
export class Client {
  readonly #ledger: Ledger
  readonly #origin: () => string

  /** @param origin returns the node for the next request */
  constructor(ledger: Ledger, origin: () => string) {
    this.#ledger = ledger
    this.#origin = origin
  }

  /** @throws when no response arrives */
  async send(request: Request): Promise<ResponseLike> {
    const { method, path, headers, body } = request
    const requestId = makeId('req', randomBytes(16))
    const asked = askedBy(request)
    if (asked?.act === 'create')
      this.#ledger.creating(headers?.['idempotency-key'] ?? '', requestId)
    if (asked?.id !== undefined) this.#ledger.sent(asked.id, requestId, asked.act)
    try {
      const response = await fetch(this.#origin() + path, {
        method,
        headers: { ...headers, 'x-request-id': requestId },
        ...(body === undefined ? {} : { body }),
        signal: AbortSignal.timeout(RESPONSE_WITHIN_MS),
      })
      const text = await response.text()
      if (response.ok) this.#record(text, { requestId, asked, request })
      else if (response.status >= 500) this.#ledger.withoutResponse += 1
      return { status: response.status, headers: response.headers, text: async () => text }
    } catch (failure) {
      this.#ledger.withoutResponse += 1
      throw failure
    }
  }

  /** Records the events of a session until its channel closes. It does not reconnect. */
  watch({ id, watch_token }: CreatedSession): void {
    const address = `${this.#origin().replace(/^http/, 'ws')}/sessions/${id}`
    const socket = new WebSocket(address, [CHANNEL_PROTOCOL, WATCH_PREFIX + watch_token])
    socket.addEventListener('error', () => {})
    socket.addEventListener('message', ({ data }) => {
      const frame = JSON.parse(String(data)) as {
        type: string
        seq: number
        state: SessionState
        hint: string | null
      }
      const kind = { state: frame.state, hint: frame.hint ?? '' }[frame.type]
      this.#ledger.saw(id as SessionId, {
        seq: frame.seq,
        state: frame.state,
        ...(kind === undefined ? {} : { kind }),
      })
    })
  }

  #record(
    text: string,
    {
      requestId,
      asked,
      request,
    }: { requestId: string; asked: Asked | undefined; request: Request },
  ): void {
    const body = (text === '' ? {} : JSON.parse(text)) as {
      id?: string
      seq?: number
      state?: SessionState
    }
    const id = asked?.id ?? (body.id as SessionId | undefined)
    if (id === undefined) return
    if (asked?.act === 'create')
      this.#ledger.created(request.headers?.['idempotency-key'] ?? '', id)
    if (asked !== undefined) this.#ledger.acknowledge(id, { requestId, act: asked.act })
    if (body.seq !== undefined && body.state !== undefined)
      this.#ledger.saw(id, { seq: body.seq, state: body.state })
    const counted = asked?.act === 'evidence' || asked?.act === 'attest'
    if (counted) this.#countAssertion(request.body ?? '{}')
  }

  #countAssertion(body: string): void {
    const { device_id, app_attest } = JSON.parse(body) as {
      device_id: string
      app_attest: { authenticator_data: string }
    }
    const data = Buffer.from(app_attest.authenticator_data, 'base64url')
    this.#ledger.accepted(device_id, data.readUInt32BE(data.length - COUNTER_BYTES))
  }
}

interface Asked {
  readonly act: Act
  /** Undefined for a create, whose session the response names. */
  readonly id: SessionId | undefined
}

const ACTS: Readonly<Record<string, Act>> = {
  claim: 'claim',
  decline: 'decline',
  'form-completed': 'complete',
}

/** What a request asks of a session; undefined for a request that changes none. */
function askedBy({ method, path, body }: Request): Asked | undefined {
  const [, , , noun, id, verb] = path.split('/')
  if (method === 'GET') return undefined
  if (noun === 'evidence' || noun === 'attestations') {
    const { session_id } = JSON.parse(body ?? '{}') as { session_id: SessionId }
    return { act: noun === 'evidence' ? 'evidence' : 'attest', id: session_id }
  }
  if (noun !== 'sessions') return undefined
  if (id === undefined) return { act: 'create', id: undefined }
  const act = method === 'DELETE' ? 'kill' : ACTS[verb ?? '']
  return act && { act, id: id as SessionId }
}
