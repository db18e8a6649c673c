import { type Mode, PASSED } from './rig/bank.ts'
import { loadFiles } from './rig/relay-service.ts'
import { openStage } from './rig/stage.ts'
import type { Attempt, Scenario } from './scenario.ts'

/** How a scenario ended in all rounds. */
export interface ScenarioFigures {
  readonly scenario: Scenario
  readonly without: ModeFigures
  readonly with: ModeFigures
  /** What must not be, a sentence each. */
  readonly findings: readonly string[]
  /** What broke before it ended, a sentence each. It shows neither success nor failure. */
  readonly untried: readonly string[]
}

/** Attempts of a scenario in one mode. */
export interface ModeFigures {
  readonly attempts: number
  readonly passed: number
  /** What stopped the others, each once. */
  readonly reasons: readonly string[]
}

interface Place {
  readonly round: number
  readonly mode: Mode
  readonly scenario: Scenario
}

type Tried = Attempt & Place

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
  const untried: (Place & { readonly failure: unknown })[] = []
  for (let round = 1; round <= rounds; round++) {
    const waiting = [...scenarios]
    const lane = async () => {
      await using stage = await openStage(files)
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const scenario = next
        onScenario(round, scenario)
        for (const mode of scenario.today ? (['without', 'with'] as const) : (['with'] as const))
          try {
            for (const attempt of await scenario.run(stage, mode))
              tried.push({ ...attempt, round, mode, scenario })
          } catch (failure) {
            untried.push({ failure, round, mode, scenario })
          }
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
      untried: untried
        .filter((each) => each.scenario === scenario)
        .map((each) => `${placeOf(each)}: ${String(each.failure).split('\n', 1)[0]}`),
    }
  })
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
function findingOf(attempt: Tried): readonly string[] {
  const { mode, ended, stoppedBy } = attempt
  const expected = mode === 'without' ? PASSED : stoppedBy
  return ended === expected ? [] : [`${placeOf(attempt)}: ${ended}. Expected: ${expected}`]
}

function placeOf({ round, mode, scenario, name }: Place & { readonly name?: string }): string {
  return `${scenario.number}${name === undefined ? '' : ` (${name})`}, ${mode} the requirement, round ${round}`
}
