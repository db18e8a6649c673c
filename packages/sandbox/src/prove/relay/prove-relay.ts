import { type Mode, PASSED } from './rig/bank.ts'
import { loadFiles } from './rig/relay-service.ts'
import { openStage, type Stage } from './rig/stage.ts'
import type { Attempt, Scenario } from './scenario.ts'

/** How a scenario ended in all rounds. */
export interface ScenarioFigures {
  readonly scenario: Scenario
  readonly without: ModeFigures
  readonly with: ModeFigures
  /** What must not be, a sentence each. */
  readonly findings: readonly string[]
}

/** Attempts of a scenario in one mode. */
export interface ModeFigures {
  readonly attempts: number
  readonly passed: number
  /** What stopped the others, each once. */
  readonly reasons: readonly string[]
}

interface Tried extends Attempt {
  readonly round: number
  readonly mode: Mode
  readonly scenario: Scenario
}

/** Most of a scenario is waiting: a phone ignores taps for a second. */
const LANES = 2

/** Tries every scenario in every round, each round with services and browsers of its own. */
export async function proveRelay({
  scenarios,
  rounds,
  onScenario,
}: {
  readonly scenarios: readonly Scenario[]
  readonly rounds: number
  readonly onScenario: (round: number, scenario: Scenario) => void
}): Promise<readonly ScenarioFigures[]> {
  const files = await loadFiles()
  const tried: Tried[] = []
  for (let round = 1; round <= rounds; round++) {
    const waiting = [...scenarios]
    const lane = async () => {
      await using stage = await openStage(files)
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const scenario = next
        onScenario(round, scenario)
        for (const mode of scenario.today ? (['without', 'with'] as const) : (['with'] as const))
          for (const attempt of await tryAttack(stage, scenario, mode))
            tried.push({ ...attempt, round, mode, scenario })
      }
    }
    await Promise.all(Array.from({ length: Math.min(LANES, scenarios.length) }, lane))
  }
  return scenarios.map((scenario) => {
    const own = tried.filter((each) => each.scenario === scenario)
    return {
      scenario,
      without: figuresOf(own.filter(({ mode }) => mode === 'without')),
      with: figuresOf(own.filter(({ mode }) => mode === 'with')),
      findings: own.flatMap(findingOf),
    }
  })
}

/** On a machine with much to do, a browser sometimes misses a click, or loses a connection. */
const MAX_TRIES = 2

/**
 * A scenario that breaks has shown neither that an attack passes nor that it is stopped. It runs
 * once more, with new people. If it breaks again, that is a finding, and the others still run.
 */
async function tryAttack(
  stage: Stage,
  scenario: Scenario,
  mode: Mode,
): Promise<readonly Attempt[]> {
  for (let tries = 1; ; tries++)
    try {
      return await scenario.run(stage, mode)
    } catch (failure) {
      if (tries < MAX_TRIES) continue
      const [sentence] = String(failure).split('\n')
      return [{ ended: `error: ${sentence}`, stoppedBy: 'no error' }]
    }
}

function figuresOf(tried: readonly Tried[]): ModeFigures {
  const stopped = tried.filter(({ ended }) => ended !== PASSED)
  return {
    attempts: tried.length,
    passed: tried.length - stopped.length,
    reasons: [...new Set(stopped.map(({ ended }) => ended))],
  }
}

/** What an attempt shows that must not be. */
function findingOf({ round, mode, scenario, name, ended, stoppedBy }: Tried): readonly string[] {
  const expected = mode === 'without' ? PASSED : stoppedBy
  if (ended === expected) return []
  const where = `${scenario.number}${name === undefined ? '' : ` (${name})`}, ${mode} the requirement, round ${round}`
  return [`${where}: ${ended}. Expected: ${expected}`]
}
