import type { SessionState } from '@bonded/contract'
import type { Standing } from './read.ts'

const OVER: readonly SessionState[] = ['completed', 'killed', 'expired']

/** Whether the session can never change again. */
export function isOver(standing: Standing): boolean {
  return OVER.includes(standing.state)
}

/**
 * What is known after some news. Frames and answers overtake each other: older news changes nothing, and a
 * session that is over stays so. Expiry comes without a step of `seq`, so equal ones count as news.
 */
export function advance(known: Standing, news: Standing): Standing {
  if (news.seq < known.seq || isOver(known)) return known
  return {
    ...news,
    code: later(known.code, news.code),
    endedReason: news.endedReason ?? known.endedReason,
  }
}

function later(known: Standing['code'], news: Standing['code']): Standing['code'] {
  if (!known || !news) return news ?? known
  return news.expiresAt >= known.expiresAt || news.payload === known.payload ? news : known
}
