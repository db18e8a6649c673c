import { ownMembers } from './members.ts'
import { readStanding, type Instant, type Standing } from './read.ts'

/** The one version of the envelope that this script reads. */
const FRAME_VERSION = 1

/**
 * What a frame of the channel reports; undefined for one of another version or session, with an
 * unknown state, or that is not JSON: the widget then fails closed. A new *type* of frame within the
 * version still carries the envelope, and that is read.
 */
export function readFrame(
  text: unknown,
  from: { sessionId: string; now: Instant },
): Standing | undefined {
  const frame = ownMembers(parse(text))
  if (frame?.['v'] !== FRAME_VERSION || frame['session_id'] !== from.sessionId) return undefined
  const { seq, state, hint, expires_in_ms } = frame
  // The envelope wins over the data, in which `hello` repeats its members.
  return readStanding({ ...ownMembers(frame['data']), seq, state, hint, expires_in_ms }, from.now)
}

function parse(text: unknown): unknown {
  try {
    return typeof text === 'string' ? JSON.parse(text) : undefined
  } catch {
    return undefined
  }
}
