import { DIRECTIONAL_MARKS, hasDirectionalMark } from './directional-marks.ts'
import type { SessionContext } from './schemas/context.ts'

/** The words of `shows`: the phone draws the requester and the text of a context in full. */
export const TEXT_AND_REQUESTER = ['text', 'requester'] as const

/** The word of `shows`: the phone says how many people must approve. */
export const QUORUM = 'quorum'

/** The words of `shows` that a phone must say to approve a context. */
export function wordsToShow(context: SessionContext | null): readonly string[] {
  if (context === null) return []
  const { display, requester, text, quorum } = context
  const values = [...display.map(({ value }) => value), requester?.detail ?? '']
  return [
    ...(values.some(hasDirectionalMark) ? [DIRECTIONAL_MARKS] : []),
    ...(requester === undefined && text === undefined ? [] : TEXT_AND_REQUESTER),
    ...(quorum === undefined ? [] : [QUORUM]),
  ]
}
