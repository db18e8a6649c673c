import { createAuthenticator } from '@bonded/simulator'
import { APPROVED, credentialId } from '../rig/people.ts'
import { drawSecret, promptPage, proofPayload, sendProof } from '../rig/proof.ts'
import { HOSTS } from '../rig/stage.ts'
import type { Scenario } from '../scenario.ts'
import { relay, submitRelayed } from './relay.ts'

/** Above the counter of any passkey here. */
const FORGED_COUNTER = 1_000_000

/** The attacker shows the QR code, or its link, of the attacker's own session. */
export const SHOWN_CODES: readonly Scenario[] = [
  {
    number: 1,
    title: 'The attacker’s browser shows its QR code on a call',
    today: true,
    run: (stage, mode) =>
      relay(stage, { mode }, async (relayed) => {
        const stoppedBy = 'session_not_bonded'
        const screen = await relayed.victim.phone.tryToApprove(relayed.session)
        // A service that bonds a phone alone fails here, because its domain allows no such bond.
        if (!APPROVED.includes(screen)) return [{ ended: `not approved: ${screen}`, stoppedBy }]
        return [{ ended: await submitRelayed(relayed), stoppedBy }]
      }),
  },
  {
    number: 2,
    title: 'A fake page in the victim’s browser shows it',
    today: true,
    run: (stage, mode) =>
      relay(stage, { mode }, async (relayed) => {
        const { phone } = relayed.victim
        await using computer = await stage.computer()
        await computer.addPasskeys(await phone.copyPasskeys())
        await computer.page.goto(`https://${HOSTS.evil}/`)
        const link = JSON.stringify(relayed.session.universal_link)
        await computer.page.evaluate(`document.body.append('Scan to sign in: ', ${link})`)
        await phone.approve(relayed.session)
        return [{ ended: await submitRelayed(relayed), stoppedBy: 'session_not_bonded' }]
      }),
  },
  {
    number: 3,
    title: 'The fake page asks the victim’s browser for the passkey',
    today: false,
    run: (stage, mode) =>
      relay(stage, { mode }, async ({ service, victim, session }) => {
        await victim.phone.approve(session)
        await using computer = await stage.computer()
        const passkeys = await victim.phone.copyPasskeys()
        await computer.addPasskeys(passkeys)
        await computer.page.goto(`https://${HOSTS.evil}/`)
        const { commitment } = drawSecret()
        const prompted = await promptPage(computer.page, {
          rpId: service.rpId,
          credentialIds: passkeys.map(credentialId),
          payload: proofPayload(session, { tenant: service.bank, commitment }),
        })
        const ended = await sendProof(service, session, { commitment, prompted })
        return [{ ended, stoppedBy: 'SecurityError' }]
      }),
  },
  {
    number: 4,
    title: 'A program forges the Origin header and the proof',
    today: true,
    run: (stage, mode) =>
      relay(stage, { mode }, async ({ service, victim, tab, session }) => {
        await victim.phone.approve(session)
        if (mode === 'without') {
          await tab.finish()
          return [{ ended: await tab.submit(session), stoppedBy: '' }]
        }
        const { commitment } = drawSecret()
        const [passkey] = await victim.phone.passkeys()
        const forger = createAuthenticator({ origin: service.origin, rpId: service.rpId })
        const payload = proofPayload(session, { tenant: service.bank, commitment })
        const assertion = {
          // A counter that no check rejects, so that only the signature can.
          ...forger.confirm(payload, service.bank.origin, { counter: FORGED_COUNTER }),
          // The credential that the service asks for, which its public view names.
          ...(passkey && { id: credentialId(passkey), rawId: credentialId(passkey) }),
        }
        const ended = await sendProof(service, session, { commitment, prompted: { assertion } })
        const guessed = { ...session, watch_token: `bwt_${'A'.repeat(43)}` }
        const unwatched = await sendProof(service, guessed, { commitment, prompted: { assertion } })
        return [
          { name: 'the proof', ended, stoppedBy: 'signature' },
          { name: 'a guessed watch token', ended: unwatched, stoppedBy: 'session_not_found' },
          { name: 'the form', ended: await tab.submit(session), stoppedBy: 'session_not_bonded' },
        ]
      }),
  },
  {
    number: 12,
    title: 'The link of the QR code is sent to the victim’s phone',
    today: true,
    run: (stage, mode) =>
      relay(stage, { mode }, async (relayed) => {
        // The message looks like the bank's, and the phone opens the link without a second screen.
        await relayed.victim.phone.approve(relayed.session)
        return [{ ended: await submitRelayed(relayed), stoppedBy: 'session_not_bonded' }]
      }),
  },
]
