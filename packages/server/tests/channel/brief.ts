import type { ServerFrame } from '@bonded/contract'

/** Returns the type, `seq`, state and hint of a frame. */
export function brief(frame: ServerFrame): unknown[] {
  return [frame.type, frame.seq, frame.state, frame.hint]
}
