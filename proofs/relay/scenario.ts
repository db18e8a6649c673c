import type { Mode } from './rig/bank.ts'
import type { Stage } from './rig/stage.ts'

/** One way to try an attack, and how it ended. */
export interface Attempt {
  /** Undefined where the scenario has a single attempt. */
  readonly name?: string
  /** `passed`, or the reason that stopped it. */
  readonly ended: string
  /**
   * The check that must stop it with the requirement. Another one would hide that this one is
   * missing.
   */
  readonly stoppedBy: string
}

/** An attack of the design, or what an honest user does. */
export interface Scenario {
  /** The number in the design. 0 is the honest user, whom nothing may stop. */
  readonly number: number
  readonly title: string
  /** Whether it succeeds against a bond without the proof of the browser. */
  readonly today: boolean
  /** What happens without the requirement; only a scenario of `today` is then run. */
  readonly run: (stage: Stage, mode: Mode) => Promise<readonly Attempt[]>
}
