import { isObject, readStanding, type Instant, type Standing } from './read.ts'

/** The one version of the envelope that this script reads. */
const FRAME_VERSION = 1

/**
 * The news in a frame of the channel; undefined for one that must not be trusted to mean what we think:
 * another version, another session, an unknown state, or no JSON. A new *type* of frame within the version
 * still carries the envelope, and that is read.
 */
export function readFrame(
  text: unknown,
  from: { sessionId: string; now: Instant },
): Standing | undefined {
  const frame = parse(text)
  if (!isObject(frame) || frame['v'] !== FRAME_VERSION || frame['session_id'] !== from.sessionId)
    return undefined
  const { seq, state, hint, expires_in_ms } = frame
  // The envelope is laid over the data: `hello` repeats its members there.
  return readStanding(
    { ...(isObject(frame['data']) ? frame['data'] : {}), seq, state, hint, expires_in_ms },
    from.now,
  )
}

function parse(text: unknown): unknown {
  try {
    return typeof text === 'string' ? JSON.parse(text) : undefined
  } catch {
    return undefined
  }
}
