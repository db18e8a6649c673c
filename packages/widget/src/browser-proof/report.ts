import type { Screen } from '../screen.ts'
import type { ProofReason } from './proof-reducer.ts'

/** What the browser's proof reports to the bond: what to show, while the session waits for it. */
export interface ProofReport {
  readonly screen: Pick<Screen, 'name' | 'text' | 'stage'>
  /** The secret of this tab for this session, and its commitment. */
  readonly secret?: string | undefined
  /** The proof is impossible. */
  readonly reason?: ProofReason
}
