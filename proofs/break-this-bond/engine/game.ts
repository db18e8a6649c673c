import type { Timeline } from '@bonded/contract'
import { EXPLANATIONS as OF_STEPS } from '@bonded/core/protocol/explanations'
import { approveItself } from '../levels/approve-itself.ts'
import { changeCall } from '../levels/change-call.ts'
import { halfApproval } from '../levels/half-approval.ts'
import { relayBrowser } from '../levels/relay-browser.ts'
import { relayCode } from '../levels/relay-code.ts'
import { replayCode } from '../levels/replay-code.ts'
import { restoreLog } from '../levels/restore-log.ts'
import { rewriteReceipt } from '../levels/rewrite-receipt.ts'
import { swapText } from '../levels/swap-text.ts'
import type { Level, Outcome } from './level.ts'
import { type Line, show, type World } from './world.ts'

/** The levels in their order. */
export const LEVELS: readonly Level[] = [
  replayCode,
  swapText,
  relayCode,
  relayBrowser,
  approveItself,
  changeCall,
  halfApproval,
  rewriteReceipt,
  restoreLog,
]

/** What a name of `stopped` says: a step, a reason of the gate, or a fault of a verifier. */
export const EXPLANATIONS: Readonly<Record<string, string>> = {
  ...OF_STEPS,
  session_missing: 'The bank was given no session.',
  session_not_bonded: 'No phone has approved the session, or its approval is used or has ended.',
  action_mismatch: 'The approval is for another action.',
  context_mismatch: 'The phone has signed another text.',
  subject_mismatch: 'The phone that approved is of another user.',
  quorum_required: 'The bank’s workflow needs several people, and one was named.',
  declined: 'One of the people has declined.',
  too_few_approvals: 'Fewer people have approved than the bank requires.',
  not_included: 'The log that the auditor was given does not have this receipt.',
  log_rewritten: 'The log does not continue the one that the auditor has stored.',
  rate_limited: 'The phone has asked too often.',
  inbox_full: 'Too many requests wait in the inbox of the user.',
  proof_malformed: 'The proofs of the log do not belong to these checkpoints.',
  log_closed: 'The log was closed, and another one continues it.',
  cosignatures_missing: 'The witness has not signed this state of the log.',
}

/** What comes of a move, where the game has it in a word of the protocol. */
const SENTENCES: Readonly<Record<string, string>> = {
  accept: 'The gate accepts, and the bank acts.',
  bonded: 'The approval counts: the session is bonded.',
  pending: 'The phone shows the request.',
}

/** A move takes a second, so that a trace has an order. */
const MOVE_MS = 1_000

/** What a game came to. */
export interface Played {
  /** What came of each move. */
  readonly said: readonly string[]
  /** The first outcome other than `none`; a win counts more than what remains possible. */
  readonly outcome: Outcome
  /** After how many moves. */
  readonly after: number
  /** What the parties have seen. */
  readonly lines: readonly Line[]
  /** What the bank can read afterward about its sessions. */
  readonly trace: readonly Timeline[]
  /** What stopped the visitor: faults of the verifiers, steps, and reasons. */
  readonly stopped: readonly string[]
}

/**
 * Plays the moves of a level in their order. The same seed and moves give the same game.
 *
 * @throws {RangeError} for a move that the level does not have
 */
export async function play(level: Level, seed: string, moves: readonly string[]): Promise<Played> {
  const round = await level.begin(seed)
  const { world, moves: possible } = round
  report(world, { done: 0, refused: 0 })
  const said: string[] = []
  let reached: Outcome = 'none'
  let after = 0
  for (const name of moves) {
    const move = Object.hasOwn(possible, name) ? possible[name] : undefined
    if (move === undefined) throw new RangeError(`level ${level.id} has no move ${name}`)
    world.game.wait(MOVE_MS)
    const before = countsOf(world)
    const came = await move()
    said.push(show(world, 'you', SENTENCES[came] ?? came))
    report(world, before)
    const now = await round.outcome()
    if (now !== reached && now !== 'none' && reached !== 'won') {
      reached = now
      after = said.length
    }
  }
  const trace = await world.bank.timelines()
  const steps = trace.flatMap(({ entries }) =>
    entries.flatMap(({ kind, step }) =>
      // A phone says what it shows only if the service asks, which it does by a rejection.
      kind === 'refused' && step !== null && step !== 'shows' ? [step] : [],
    ),
  )
  const all = [...world.game.faults, ...steps, ...world.bank.refusals, ...world.stopped]
  const stopped = [...new Set(all)]
  return { said, outcome: reached, after, lines: world.lines, trace, stopped }
}

function countsOf({ bank }: World) {
  return { done: bank.done.length, refused: bank.refusals.length }
}

/** Shows what the bank has done and rejected since. */
function report(world: World, since: ReturnType<typeof countsOf>): void {
  for (const { action, form } of world.bank.done.slice(since.done))
    show(world, 'bank', `The gate accepts. The bank does ${action}: ${JSON.stringify(form)}.`)
  for (const reason of world.bank.refusals.slice(since.refused))
    show(world, 'bank', `The gate rejects: ${reason}.`)
}
