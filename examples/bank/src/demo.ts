import type { LoanRequest } from './loan-form.ts'

/** A link that sets the bank up for one way that a request can go. */
export interface DemoScenario {
  readonly name: string
  readonly title: string
  /** One sentence: what to do, and what to watch. */
  readonly watch: string
  /** The workflow of its sessions, where it is not the bank's usual one. */
  readonly workflow?: string
  /** The page that the link opens, where it is not the bank's. */
  readonly url?: string
  /** A script of the demo that its page loads, by address. */
  readonly script?: string
}

/** What `bonded dev` shows around the bank's page: a simulated phone, and what just happened. */
export interface BankDemo {
  /** The origin of the frames with the phone and the activity. */
  readonly phoneOrigin: string
  /** The first one is the start page. */
  readonly scenarios: readonly [DemoScenario, ...DemoScenario[]]
}

/** The form of the demo, so that one button starts it. */
export const EXAMPLE_REQUEST: LoanRequest = {
  name: 'Ada Lovelace',
  amount_eur: 12_500,
  purpose: 'home',
  term_months: 36,
  income_eur: 3_200,
}

/** The scenario that an address names, or the first one. */
export function scenarioOf(demo: BankDemo, name: string | null): DemoScenario {
  return demo.scenarios.find((scenario) => scenario.name === name) ?? demo.scenarios[0]
}
