import type { IncomingMessage } from 'node:http'
import type { Refusal } from '../domain/refusal.ts'
import type { BodyBudget, BodyShare } from './body-budget.ts'

/** A phone on a bad network opens with a pause of a second or two. */
const GRACE_MS = 2_000
/** A phone on a 2G network sends several times this. Slower bodies only hold memory. */
const MIN_BYTES_PER_SECOND = 1_024
/** How many pieces a body may come in, beside one for every so many bytes: each piece costs a callback. */
const FREE_PIECES = 128
const MIN_PIECE_BYTES = 128

/** A body with what it still holds of the budget. */
export interface ReadBody {
  readonly bytes: Buffer
  /** To be called once the bytes are not needed any more. */
  readonly release: () => void
}

/** Why a body was not read: the client went away, or sent what is rejected. */
export type BodyFailure = 'aborted' | Refusal

/** How a body is read. */
export interface BodyRequest {
  readonly limitBytes: number
  /** What the bytes are counted by. */
  readonly network: string
  /** Called once. */
  readonly done: (result: ReadBody | { readonly failure: BodyFailure }) => void
}

/** Reads request bodies within a budget for all of them. */
export interface BodyReader {
  readonly read: (message: IncomingMessage, request: BodyRequest) => void
  /** Rejects the bodies that arrive too slowly. To be called twice a second or so. */
  readonly cutSlow: () => void
  /** How many bodies are being read. */
  readonly size: () => number
}

interface Arriving {
  readonly startedMs: number
  readonly received: () => number
  readonly fail: (failure: BodyFailure) => void
}

/**
 * Reads bodies into buffers that grow as bytes arrive, so that a body costs what was sent of it: not
 * what its Content-Length says, and not an object for each of its chunks.
 */
export function bodyReader(
  budget: BodyBudget,
  now: () => number = () => performance.now(),
): BodyReader {
  const arriving = new Set<Arriving>()
  return {
    size: () => arriving.size,
    read(message, { limitBytes, network, done }) {
      const declared = Number(message.headers['content-length'] ?? Number.NaN)
      if (declared > limitBytes) return done({ failure: { reason: 'body_too_large' } })
      const share = budget.share(network)
      const buffer = growingBuffer(share, Math.min(limitBytes, declared || limitBytes))
      const settle = (result: Parameters<BodyRequest['done']>[0]) => {
        if (!arriving.delete(entry)) return
        message.off('data', onData).off('end', onEnd).off('close', onGone)
        if ('failure' in result) share.release()
        done(result)
      }
      const fail = (failure: BodyFailure) => settle({ failure })
      const onData = (chunk: Buffer) => {
        const refusal = buffer.add(chunk)
        if (refusal !== undefined) fail(refusal)
      }
      const onEnd = () => settle({ bytes: buffer.bytes(), release: share.release })
      const onGone = () => fail('aborted')
      const entry: Arriving = { startedMs: now(), received: buffer.length, fail }
      arriving.add(entry)
      // An aborted upload emits an error too, before it closes.
      message.on('error', ignore).on('close', onGone).on('end', onEnd).on('data', onData)
    },
    cutSlow() {
      for (const { startedMs, received, fail } of arriving) {
        const lateMs = now() - startedMs - GRACE_MS
        if (lateMs > 0 && received() < (lateMs / 1_000) * MIN_BYTES_PER_SECOND)
          fail({ reason: 'request_timeout', step: 'body_rate' })
      }
    },
  }
}

function ignore(): void {}

/** A buffer that reserves what it allocates. A body that comes in one piece is not copied. */
function growingBuffer(share: BodyShare, limitBytes: number) {
  let whole: Buffer = Buffer.alloc(0)
  let length = 0
  let pieces = 0
  return {
    length: () => length,
    bytes: () => whole.subarray(0, length),
    add(chunk: Buffer): Refusal | undefined {
      const needed = length + chunk.length
      if (needed > limitBytes) return { reason: 'body_too_large' }
      if (++pieces > FREE_PIECES + needed / MIN_PIECE_BYTES)
        return { reason: 'malformed_request', step: 'body_pieces' }
      if (needed > whole.length) {
        const capacity = pieces === 1 ? needed : Math.min(limitBytes, Math.max(needed, length * 2))
        if (!share.reserve(capacity - whole.length))
          return { reason: 'overloaded', step: 'body_budget' }
        whole = pieces === 1 ? chunk : Buffer.concat([whole.subarray(0, length)], capacity)
      }
      if (pieces > 1) chunk.copy(whole, length)
      length = needed
      return undefined
    },
  }
}
