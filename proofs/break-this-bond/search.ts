import type { Level, Outcome } from './engine/level.ts'
import type { play } from './engine/game.ts'

/** The moves of a random game: more than any win needs. */
export const MOVES_A_GAME = 10

/** What comes of a game in which a call fails. */
const FAILED = { outcome: 'none', after: 0, stopped: [] } as const

/** What a bundle of the game exports. */
export interface Game {
  readonly LEVELS: readonly Level[]
  readonly play: typeof play
  readonly EXPLANATIONS: Readonly<Record<string, string>>
}

/** What a search has found. */
export interface Found {
  /** How many games came to each outcome. */
  readonly games: Readonly<Record<Outcome, number>>
  /** How many moves were played until the first win, and in it; undefined without one. */
  readonly win: { readonly searched: number; readonly moves: readonly string[] } | undefined
  /** What stopped the visitor in any game. */
  readonly stopped: ReadonlySet<string>
}

/**
 * Plays random games of a level, of a bundle. The levels of two bundles are not the same objects.
 *
 * @param draw whole numbers from 0 to below a bound
 * @param untilWin whether the search ends with its first win
 */
export async function search(
  { LEVELS, play }: Game,
  id: number,
  { games, draw, untilWin }: { games: number; draw: (below: number) => number; untilWin: boolean },
): Promise<Found> {
  const level = LEVELS.find((each) => each.id === id)
  if (level === undefined) throw new RangeError(`there is no level ${id}`)
  const possible = Object.keys(level.moves)
  const stopped = new Set<string>()
  const counted = { none: 0, won: 0, remains: 0 }
  let win: Found['win']
  for (let played = 0; played < games; played++) {
    const moves = Array.from({ length: MOVES_A_GAME }, () => possible[draw(possible.length)] ?? '')
    // Without a guard, a call may fail where it never could before: that is not a win.
    const game = play(level, 'search', moves)
    const end = await (untilWin ? game.catch(() => FAILED) : game)
    const { outcome, after, stopped: names } = end
    counted[outcome]++
    for (const name of names) stopped.add(name)
    if (outcome === 'won')
      win ??= { searched: (played + 1) * MOVES_A_GAME, moves: moves.slice(0, after) }
    if (untilWin && win !== undefined) break
  }
  return { games: counted, win, stopped }
}
