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

/** Loads the game as a page does, without some guards; or with the `node:crypto` of Node. */
export async function loadGame(without: readonly Guard[] = [], forNode = false): Promise<Game> {
  const [bundle] = (await bundleGame(without, forNode)).outputFiles
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
  /**
   * The smallest sets of guards whose removal lets a search win: each has one guard, as the own one
   * of the level is such a set. A guard that has stopped no game changes none.
   */
  readonly smallest: readonly Guard[]
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
  const name = `level ${level.id}`
  const guarded = await loadGame([], true)
  const kept = await search(guarded, level.id, { games, draw: drawFor(name), untilWin: false })
  const winWithout = async (guard: Guard) =>
    search(await loadGame([guard], true), level.id, {
      games: GAMES_TO_WIN,
      draw: drawFor(`${name} without ${guard.name}`),
      untilWin: true,
    })
  const dropped = await winWithout(level.guard)
  const smallest: Guard[] = []
  for (const { file, name: guard } of allGuards(ROOT).filter((each) => kept.stopped.has(each.name)))
    if ((await winWithout({ file, name: guard })).win !== undefined)
      smallest.push({ file, name: guard })
  const { won, remains } = kept.games
  const unexplained = [...kept.stopped].filter((each) => !guarded.EXPLANATIONS[each])
  const findings = [
    ...unexplained.map((each) => `${name}: the page has no sentence for ${each}`),
    ...(won > 0 ? [`${name}: won with all guards by ${kept.win?.moves.join(' ')}`] : []),
    ...(remains > 0 === (level.remains === undefined)
      ? [`${name}: ${remains} games reach what remains, which is not what the level says`]
      : []),
    ...(dropped.win === undefined
      ? [`${name}: no win without ${level.guard.name} in ${GAMES_TO_WIN} games`]
      : []),
  ]
  return { level, with: kept, without: dropped, smallest, findings }
}
