import type { IncomingMessage } from 'node:http'
import type { Rejection } from '@bonded/core/domain/rejection'
import type { BodyBudget, BodyShare } from './body-budget.ts'

/** A phone on a bad network pauses for a second or two before its first bytes. */
const GRACE_MS = 2_000
/** A phone on a 2G network sends several times faster. Slower bodies only occupy memory. */
const MIN_BYTES_PER_SECOND = 1_024
/**
 * How many chunks a body may have, in addition to one for every `MIN_PIECE_BYTES`. Each chunk costs
 * a callback.
 */
const FREE_PIECES = 128
const MIN_PIECE_BYTES = 128

/** A body and its reservation in the budget. */
export interface ReadBody {
  readonly bytes: Buffer
  /** Returns the reservation. The caller must call it when it has finished with the bytes. */
  readonly release: () => void
}

/** Why a body was not read: the client disconnected, or the service rejected the body. */
export type BodyFailure = 'aborted' | Rejection

/** The limits for one body and the callback for its result. */
export interface BodyRequest {
  readonly limitBytes: number
  /** The key of the client's network, which the budget counts the bytes for. */
  readonly network: string
  /** Called exactly once. */
  readonly done: (result: ReadBody | { readonly failure: BodyFailure }) => void
}

/** Reads request bodies within a shared budget. */
export interface BodyReader {
  readonly read: (message: IncomingMessage, request: BodyRequest) => void
  /** Rejects bodies that arrive too slowly. The caller runs it about twice a second. */
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
 * Reads bodies into buffers that grow as bytes arrive. A body therefore costs only the bytes
 * received, not its declared Content-Length and not an object for each chunk.
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
        const rejection = buffer.add(chunk)
        if (rejection !== undefined) fail(rejection)
      }
      const onEnd = () => settle({ bytes: buffer.bytes(), release: share.release })
      const onGone = () => fail('aborted')
      const entry: Arriving = { startedMs: now(), received: buffer.length, fail }
      arriving.add(entry)
      // An aborted upload also emits an error before it closes.
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

/** A buffer that reserves what it allocates. A body that arrives in one chunk is not copied. */
function growingBuffer(share: BodyShare, limitBytes: number) {
  let whole: Buffer = Buffer.alloc(0)
  let length = 0
  let pieces = 0
  return {
    length: () => length,
    bytes: () => whole.subarray(0, length),
    add(chunk: Buffer): Rejection | undefined {
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
