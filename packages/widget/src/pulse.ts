import {
  type BondRequest,
  type CheckedSetup,
  checkRequest,
  checkSetup,
  type Setup,
} from './arguments.ts'
import { startBond, type Bond } from './bond.ts'
import { watchPolicy } from './csp.ts'
import { findContainer } from './container/find-container.ts'
import { loadChecks } from './loading/load-checks.ts'
import type { BondOutcome } from './outcome.ts'
import { refuse, unfitness, type Unfitness } from './unfit.ts'
import { loadStyles } from './view/sheet.ts'

/** The global `Pulse` of the hosted script. */
export interface Pulse {
  readonly version: string
  /** The origin that the script was loaded from; null for a copy that has none. */
  readonly origin: string | null
  /**
   * Sets the publishable key, the workflow and the container of the page.
   *
   * @throws PulseError for a wrong argument
   *
   * @example Pulse.init({ publishableKey, workflow: 'credit_application', sessionEndpoint: '/bond' })
   */
  readonly init: (setup: Setup) => void
  /**
   * Requests one bond and shows the widget. Always settles, and resolves with every outcome.
   * Rejects only for wrong arguments, at once, with a `PulseError`.
   *
   * Each container shows one bond. A request for the same container ends the previous one as
   * `superseded`, unless it is the same request: then both get the same outcome.
   *
   * @example const { state, sessionId } = await Pulse.requireBond({ action: 'submit_application' })
   */
  readonly requireBond: (request: BondRequest) => Promise<BondOutcome>
}

/**
 * Creates the API of one page. It draws one widget in each container.
 *
 * @param origin the origin that the script was loaded from; null for a copy that has none
 */
export function makePulse(version: string, origin: string | null): Pulse {
  let setup: CheckedSetup | undefined
  let unfit: Unfitness | undefined
  /** The bonds by container. A missing container is represented by the map. */
  const bonds = new WeakMap<object, { readonly bond: Bond; readonly request: string }>()

  const needed = new Set<unknown>()
  if (origin) watchPolicy(needed.add(origin).add(origin.replace('http', 'ws')))

  return Object.freeze({
    version,
    origin,
    init(given: Setup) {
      unfit = unfitness()
      // The check of the options needs what the browser or the page lacks.
      if (unfit) return void (setup = { ...given, origin } as CheckedSetup)
      setup = checkSetup(given, origin)
      needed.add(setup.sessionEndpoint ?? origin)
      loadChecks(setup.origin).catch(() => {})
      void loadStyles(setup.origin)
    },
    async requireBond(given: BondRequest) {
      const reason = unfit ?? unfitness()
      if (reason) return refuse(reason, setup)
      const request = checkRequest(setup, given)
      // A second press of the same button gets the bond in progress.
      const same = JSON.stringify([setup, request.action, request.context, request.session?.['id']])
      const place = findContainer(setup?.containerId) ?? bonds
      const current = bonds.get(place)
      if (current?.request === same) return current.bond.outcome
      current?.bond.supersede()
      const bond = startBond(setup as CheckedSetup, request)
      const mine = { bond, request: same }
      bonds.set(place, mine)
      const outcome = await bond.outcome
      // The page has the outcome, so the next call starts a new bond, even for the same request.
      // Until then the widget stays open to show the completion.
      if (bonds.get(place) === mine) bonds.set(place, { bond, request: '' })
      return outcome
    },
  })
}
