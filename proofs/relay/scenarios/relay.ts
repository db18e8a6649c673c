import type { PublicCreatedSession } from '@bonded/integrator'
import type { Bank, BankOptions } from '../rig/bank.ts'
import { type BankTab, visitBank } from '../rig/bank-tab.ts'
import type { Computer } from '../rig/people.ts'
import type { RelayService } from '../rig/relay-service.ts'
import type { Person, Stage } from '../rig/stage.ts'

/** A live relay: the attacker's browser has a session of the victim's account. */
export interface Relay {
  readonly service: RelayService
  readonly bank: Bank
  readonly victim: Person
  readonly attacker: Computer
  readonly tab: BankTab
  readonly session: PublicCreatedSession
}

/**
 * Signs the attacker's browser in at the bank with the victim's stolen password, and asks for a
 * bond there. The scenario does the rest.
 */
export async function relay<Result>(
  stage: Stage,
  { mode, ...options }: Omit<BankOptions, 'accounts'>,
  act: (relay: Relay) => Promise<Result>,
): Promise<Result> {
  const service = stage.service('related')
  const victim = await stage.victim(service)
  const accounts = { victim: victim.subjectRef }
  await using bank = await stage.openBank(service, { mode, accounts, ...options })
  await using attacker = await stage.computer()
  const tab = await visitBank(attacker, bank, { as: 'victim' })
  const session = await tab.bond()
  return await act({ service, bank, victim, attacker, tab, session })
}

/** The end of a relay: the attacker's browser does what its widget asks for, and submits. */
export async function submitRelayed({ tab, session }: Pick<Relay, 'tab' | 'session'>) {
  await tab.finish()
  return tab.submit(session)
}
