import assert from 'node:assert/strict'
import { test } from 'node:test'
import { randomFor } from '../../tests/random.ts'
import { loadGame, proveLevel } from '../break-this-bond/prove-game.ts'

/** Of a level with all guards. `npm run prove:game` plays 100,000. */
const GAMES = 1_000

const { LEVELS } = await loadGame()

for (const level of LEVELS)
  test(`level ${level.id}: random games win without its guard, and none with all of them`, async () => {
    const { findings } = await proveLevel(level, { games: GAMES, drawFor: randomFor })
    assert.deepEqual(findings, [])
  })
