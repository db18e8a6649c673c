import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { bundleGame } from './build.ts'
import { allGuards } from './drop-guard.ts'
import type { Guard, Level } from './engine/level.ts'
import { type Found, type Game, search } from './search.ts'

/** The folder of the repository. */
export const ROOT = resolve(import.meta.dirname, '../..')
/** The random games in which a win must be found without a guard: at most 4,000 moves. */
export const GAMES_TO_WIN = 400

/** Loads the game as a page does, without some guards. */
export async function loadGame(without: readonly Guard[] = []): Promise<Game> {
  const [bundle] = (await bundleGame(without)).outputFiles
  const folder = mkdtempSync(join(tmpdir(), 'bonded-game-'))
  try {
    const file = join(folder, 'game.mjs')
    writeFileSync(file, bundle?.contents ?? '')
    return (await import(pathToFileURL(file).href)) as Game
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** What the searches in a level have found. */
export interface LevelFigures {
  readonly level: Level
  readonly with: Found
  readonly without: Found
  /** What contradicts the level's claim. */
  readonly findings: readonly string[]
}

/**
 * Searches a level with all guards and without its own.
 *
 * @param games how many random games are played with all guards
 * @param drawFor the numbers of one search
 */
export async function proveLevel(
  level: Level,
  { games, drawFor }: { games: number; drawFor: (search: string) => (below: number) => number },
): Promise<LevelFigures> {
  const guarded = await loadGame()
  const unguarded = await loadGame([level.guard])
  const name = `level ${level.id}`
  const found = {
    with: await search(guarded, level.id, { games, draw: drawFor(name), untilWin: false }),
    without: await search(unguarded, level.id, {
      games: GAMES_TO_WIN,
      draw: drawFor(`${name} unguarded`),
      untilWin: true,
    }),
  }
  const { won, remains } = found.with.games
  const findings = [
    ...(won > 0 ? [`${name}: won with all guards by ${found.with.win?.moves.join(' ')}`] : []),
    ...(remains > 0 === (level.remains === undefined)
      ? [`${name}: ${remains} games reach what remains, which is not what the level says`]
      : []),
    ...(found.without.win === undefined
      ? [`${name}: no win without ${level.guard.name} in ${GAMES_TO_WIN} games`]
      : []),
  ]
  return { level, ...found, findings }
}

/**
 * Finds the guards each of which lets a search win when it is dropped alone. They are the smallest
 * sets, because the own guard of a level is one of them.
 *
 * @returns the guards by the number of the level
 */
export async function smallestSets(
  drawFor: (search: string) => (below: number) => number,
): Promise<ReadonlyMap<number, readonly Guard[]>> {
  const sets = new Map<number, Guard[]>()
  for (const guard of allGuards(ROOT)) {
    const game = await loadGame([guard])
    for (const { id } of game.LEVELS) {
      const draw = drawFor(`level ${id} without ${guard.name}`)
      const { win } = await search(game, id, { games: GAMES_TO_WIN, draw, untilWin: true })
      if (win !== undefined) sets.set(id, [...(sets.get(id) ?? []), guard])
    }
  }
  return sets
}
