import type { PublicCreatedSession } from '@bonded/integrator'
import type { Bank, BankOptions, Mode } from '../rig/bank.ts'
import { type BankTab, bankTab, visitBank } from '../rig/bank-tab.ts'
import type { Computer } from '../rig/people.ts'
import { type Person, HOSTS, type Stage } from '../rig/stage.ts'
import { assertionOf, drawSecret, sendProof } from '../rig/proof.ts'
import type { Scenario } from '../scenario.ts'
import { relay } from './relay.ts'

/** How the attacker leads the victim's browser to the attacker's session. */
type Lure = (page: Computer['page'], bank: Bank, session: PublicCreatedSession) => Promise<BankTab>

const LURES = {
  url: (page, bank, { id }) =>
    visitBank({ page }, bank, { as: 'victim', search: `?session=${id}` }),
  async login(page, bank) {
    await page.goto(`https://${HOSTS.evil}/`)
    await page.evaluate(`location.href = '${bank.origin}/login?as=attacker'`)
    await page.waitForURL(`${bank.origin}/`)
    return bankTab(page, bank)
  },
  account: (page, bank) => visitBank({ page }, bank, { as: 'victim' }),
} as const satisfies Record<string, Lure>

/**
 * The victim approves, and confirms in the victim's browser at the bank's genuine page, which has
 * the attacker's session. Then the attacker's browser submits.
 */
async function fixate(
  stage: Stage,
  mode: Mode,
  {
    lure,
    ...options
  }: { readonly lure: keyof typeof LURES } & Pick<BankOptions, 'gate' | 'resumes'>,
): Promise<string> {
  const service = stage.service('related')
  const victim = await stage.victim(service)
  // The attacker's account has not bonded before, so it accepts the victim's phone.
  const owner = lure === 'login' ? 'attacker' : 'victim'
  const accounts = { [owner]: lure === 'login' ? null : victim.subjectRef }
  await using bank = await stage.openBank(service, { mode, accounts, ...options })
  await using attacker = await stage.computer()
  await using computer = await stage.computer()
  const tab = await visitBank(attacker, bank, { as: owner })
  const session = await tab.bond()
  const deceived = await LURES[lure](computer.page, bank, session)
  const same = await deceived.bond()
  if (same.id !== session.id) throw new Error('the page did not continue the attacker’s session')
  await approveAndConfirm(victim, { computer, tab: deceived, session })
  // The attacker's page follows the session too, and has a secret of its own.
  await tab.finish()
  return await tab.submit(session, mode === 'without' ? undefined : drawSecret().secret)
}

async function approveAndConfirm(
  { phone }: Person,
  {
    computer,
    tab,
    session,
  }: { readonly computer: Computer; readonly tab: BankTab; readonly session: PublicCreatedSession },
): Promise<void> {
  await phone.approve(session)
  await computer.addPasskeys(await phone.copyPasskeys())
  const ended = await tab.finish()
  if (ended !== 'bonded') throw new Error(`the victim’s browser did not confirm: ${ended}`)
}

/** Another browser submits than the one that the victim confirmed in. */
export const FIXATIONS: readonly Scenario[] = [
  {
    number: 13,
    title: 'Fixation: the victim’s page continues the attacker’s session',
    today: true,
    async run(stage, mode) {
      const stoppedBy = 'verification_missing'
      const url = await fixate(stage, mode, { lure: 'url', resumes: 'url' })
      const login = await fixate(stage, mode, { lure: 'login', resumes: 'account' })
      const account = await fixate(stage, mode, { lure: 'account', resumes: 'account' })
      return [
        { name: 'id in the URL', ended: url, stoppedBy },
        { name: 'login CSRF', ended: login, stoppedBy },
        { name: 'resume by account', ended: account, stoppedBy },
      ]
    },
  },
  {
    number: 14,
    title: 'A second browser with a stolen watch token',
    today: true,
    run: (stage, mode) =>
      relay(
        stage,
        { mode, resumes: 'account' },
        async ({ service, bank, victim, tab, ...relayed }) => {
          // The session is the victim's own here; the attacker has its id and its watch token.
          const { session } = relayed
          await using computer = await stage.computer()
          const own = await visitBank(computer, bank, { as: 'victim' })
          await own.bond()
          await approveAndConfirm(victim, { computer, tab: own, session })
          const secret = mode === 'without' ? undefined : drawSecret().secret
          const ended = await tab.submit(session, secret)
          if (mode === 'without') return [{ ended, stoppedBy: '' }]
          const prompted = assertionOf('AAAA', {
            clientDataJSON: 'AAAA',
            authenticatorData: 'A'.repeat(52),
            signature: 'A'.repeat(16),
          })
          const { commitment } = drawSecret()
          return [
            { name: 'the form', ended, stoppedBy: 'verification_missing' },
            {
              name: 'a commitment of its own',
              ended: await sendProof(service, session, { commitment, prompted }),
              stoppedBy: 'session_not_live',
            },
          ]
        },
      ),
  },
  {
    number: 17,
    title: 'A gate from before the proof of the browser',
    today: true,
    async run(stage, mode) {
      const ended = await fixate(stage, mode, { lure: 'account', resumes: 'account', gate: 'old' })
      return [{ ended, stoppedBy: 'verification_missing' }]
    },
  },
]
