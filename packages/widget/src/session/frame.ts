import { ownMembers, parseFrame } from '@bonded/contract'
import { readSnapshot, type Instant, type Snapshot } from './snapshot.ts'

/**
 * The snapshot in a frame of the channel; undefined for a frame of another version or session, with
 * an unknown state, or that is not JSON. The widget then fails closed.
 */
export function readFrame(
  text: unknown,
  { sessionId, now }: { sessionId: string; now: Instant },
): Snapshot | undefined {
  const frame = parseFrame(text, sessionId)
  if (frame === undefined) return undefined
  // The envelope wins over the data, in which `hello` repeats its members.
  return readSnapshot({ ...ownMembers(frame['data']), ...frame }, now)
}
