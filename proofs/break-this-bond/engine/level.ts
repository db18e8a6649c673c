import type { World } from './world.ts'

/** What the build drops: a row of `checks.ts`, a reason of the gate, or a check of a verifier. */
export interface Guard {
  readonly file:
    | 'checks.ts'
    | 'gate-checks.ts'
    | 'client-data.ts'
    | 'quorum-checks.ts'
    | 'create-session.ts'
    | 'verify-receipt.ts'
    | 'verify-log.ts'
    | 'witnesses.ts'
  /** The step of the rows, the gate's reason, or the verifier's fault. */
  readonly name: string
}

/**
 * What the visitor has achieved: nothing, what the guard prevents, or what remains possible with
 * all guards.
 */
export type Outcome = 'none' | 'won' | 'remains'

/** One play of a level. */
export interface Round {
  readonly world: World
  /** Each move returns what came of it, for the visitor. */
  readonly moves: Readonly<Record<string, () => string | Promise<string>>>
  outcome(): Outcome | Promise<Outcome>
}

/** A level of the game. */
export interface Level {
  readonly id: number
  readonly title: string
  /** Who the visitor is, and what they want. */
  readonly you: string
  readonly guard: Guard
  /** What no guard prevents, if anything. A move of the level does it. */
  readonly remains?: string
  /** What the level leaves out, because the guard is not about it. */
  readonly outside?: string
  /** The moves with their labels. */
  readonly moves: Readonly<Record<string, string>>
  begin(seed: string): Promise<Round>
}
