import { checkRequest, checkSetup, type BondRequest, type Setup } from './arguments.ts'
import { startBond, type Bond } from './bond.ts'
import type { BondOutcome } from './outcome.ts'

/** The global `Pulse` of the hosted script. */
export interface Pulse {
  readonly version: string
  /**
   * Says who you are and where the widget is to be drawn. Throws a `PulseError` for a wrong argument.
   *
   * @example Pulse.init({ publishableKey: 'pk_beta_…', workflow: 'credit_application', sessionEndpoint: '/bond-session' })
   */
  readonly init: (setup: Setup) => void
  /**
   * Asks for one bond and shows the widget. Resolves with the outcome, whatever it is, and never hangs;
   * rejects only for wrong arguments, at once, with a `PulseError`.
   *
   * @example const { state, sessionId } = await Pulse.requireBond({ action: 'submit_application' })
   */
  readonly requireBond: (request: BondRequest) => Promise<BondOutcome>
}

/** Makes the API of one page. It draws one widget at a time. */
export function makePulse(version: string): Pulse {
  let setup: Setup | undefined
  let current: { readonly bond: Bond; readonly request: string } | undefined

  return Object.freeze({
    version,
    init(given: Setup) {
      setup = checkSetup(given)
    },
    async requireBond(given: BondRequest) {
      const request = checkRequest(setup, given)
      // A second press of the same button gets the bond that is running.
      const same = JSON.stringify([setup, request.action, request.context, request.session?.['id']])
      if (current?.request === same) return current.bond.outcome
      current?.bond.supersede()
      const bond = startBond(setup as Setup, request)
      const mine = { bond, request: same }
      current = mine
      const outcome = await bond.outcome
      // Told: the next call, even the same, asks anew. Until then the widget goes on to show the completion.
      if (current === mine) current = { bond, request: '' }
      return outcome
    },
  })
}
