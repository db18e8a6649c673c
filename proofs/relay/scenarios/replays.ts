import { hash } from 'node:crypto'
import { canonicalJson } from '@bonded/contract'
import type { Page } from 'playwright-core'
import { visitBank } from '../rig/bank-tab.ts'
import { credentialId } from '../rig/people.ts'
import {
  assertionOf,
  drawSecret,
  type Prompted,
  promptPage,
  proofPayload,
  sendProof,
} from '../rig/proof.ts'
import { approvedSession, proveFrom } from '../rig/sessions.ts'
import { PASSED } from '../rig/bank.ts'
import { HOSTS } from '../rig/stage.ts'
import type { Attempt, Scenario } from '../scenario.ts'
import { relay } from './relay.ts'

/** The members of what a browser signs. Each of them ties the proof to one session. */
const MEMBERS = ['session_id', 'tenant_id', 'workflow', 'action', 'origin', 'commitment', 'typ']

/** A proof that does not belong to this session, and a browser that asks for less. */
export const REPLAYS: readonly Scenario[] = [
  {
    number: 7,
    title: 'An assertion of another session, tenant, action, origin or proof',
    today: false,
    // oxlint-disable-next-line max-lines-per-function -- the attempts share two sessions
    async run(stage) {
      const service = stage.service('related')
      const victim = await stage.victim(service)
      stage.leadToBlankSite(HOSTS.bank)
      await using computer = await stage.computer()
      const { page } = computer
      await page.goto(`${service.bank.origin}/`)
      const other = await approvedSession(service, victim)
      const older = await victim.phone.passkeys()
      await computer.addPasskeys(await victim.phone.copyPasskeys())
      const { commitment } = drawSecret()
      const credentialIds = older.map(credentialId)
      const sign = (payload: string, rpId = service.rpId) =>
        promptPage(page, { rpId, credentialIds, payload })
      const tenant = service.bank
      const replayed = await sign(proofPayload(other, { tenant, commitment }))
      if ((await sendProof(service, other, { commitment, prompted: replayed })) !== PASSED)
        throw new Error('the victim’s own proof was not accepted')

      const attempts: Attempt[] = []
      const session = await approvedSession(service, victim)
      await computer.replacePasskeys(await victim.phone.copyPasskeys())
      const send = async (name: string, prompted: typeof replayed, stoppedBy = 'challenge') =>
        void attempts.push({
          name,
          ended: await sendProof(service, session, { commitment, prompted }),
          stoppedBy,
        })
      await send('of another session', replayed)
      await send('of the phone’s approval', approvalOf(victim.phone.assertion()))
      const payload = proofPayload(session, { tenant, commitment })
      const rpId = HOSTS.bank
      await computer.replacePasskeys(older.map((each) => ({ ...each, rpId })))
      await send('for another relying party', await sign(payload, rpId), 'rp_id')
      // A copy of the passkey from before the approval has its counter from then.
      await computer.replacePasskeys(older.map((each) => ({ ...each, signCount: 0 })))
      await send('by an older copy of the key', await sign(payload), 'counter')

      const next = await approvedSession(service, victim)
      await computer.replacePasskeys(await victim.phone.copyPasskeys())
      const whole = JSON.parse(proofPayload(next, { tenant, commitment })) as Record<string, string>
      for (const member of MEMBERS) {
        const { [member]: _left, ...rest } = whole
        const prompted = await sign(canonicalJson(rest))
        const ended = await sendProof(service, next, { commitment, prompted })
        attempts.push({ name: `without ${member}`, ended, stoppedBy: 'challenge' })
      }
      const last = proofPayload(next, { tenant, commitment })
      const created = await createIn(page, { payload: last, id: credentialIds[0] ?? '' })
      const registration = await sendProof(service, next, { commitment, prompted: created })
      attempts.push({ name: 'of a registration', ended: registration, stoppedBy: 'type' })
      // The ninth proof after eight failures comes too late, even if it is the right one.
      const ninth = await sendProof(service, next, { commitment, prompted: await sign(last) })
      attempts.push({ name: 'after eight failures', ended: ninth, stoppedBy: 'session_not_live' })
      return attempts
    },
  },
  {
    number: 11,
    title: 'Downgrade: the page says that the browser cannot',
    today: false,
    run: (stage, mode) =>
      relay(stage, { mode }, async ({ service, bank, victim, tab, session, attacker }) => {
        await attacker.page.evaluate('delete globalThis.PublicKeyCredential')
        await victim.phone.approve(session)
        await tab.finish()
        const form = await tab.submit(session)
        // A browser that asks for the passkey without the user's verification, such as that of an
        // unlocked computer whose user has left.
        await using computer = await stage.computer()
        const own = await visitBank(computer, bank, { as: 'victim' })
        const unlocked = await own.bond()
        await victim.phone.approve(unlocked)
        const passkeys = await victim.phone.copyPasskeys()
        await computer.addPasskeys(passkeys)
        await computer.setUserVerified(false)
        const { commitment } = drawSecret()
        const prompted = await promptPage(computer.page, {
          rpId: service.rpId,
          credentialIds: passkeys.map(credentialId),
          payload: proofPayload(unlocked, { tenant: service.bank, commitment }),
          userVerification: 'discouraged',
        })
        return [
          { name: 'no WebAuthn', ended: form, stoppedBy: 'session_not_bonded' },
          {
            name: 'no user verification',
            ended: await sendProof(service, unlocked, { commitment, prompted }),
            stoppedBy: 'user_verified',
          },
        ]
      }),
  },
  {
    number: 19,
    title: 'The phone repeats its assertion three times while it waits',
    today: false,
    async run(stage) {
      const service = stage.service('related')
      const victim = await stage.victim(service)
      stage.leadToBlankSite(HOSTS.bank)
      const session = await approvedSession(service, victim)
      const before = await service.read(session)
      const { phone } = victim
      const statuses: number[] = []
      for (let times = 0; times < 3; times++) {
        const body = phone.assertion()
        const { status } = await service.call({
          method: 'POST',
          path: '/attestations',
          token: phone.token(),
          body,
        })
        statuses.push(status)
      }
      const after = await service.read(session)
      const isSame =
        statuses.every((status) => status === 200) &&
        after.seq === before.seq &&
        after.step_up?.attempts_left === before.step_up?.attempts_left
      const repeated = after.state === 'step_up_required' && isSame ? 'still_waiting' : after.state
      // The user can go on, so the repetitions cost nothing.
      await using computer = await stage.computer()
      const passkeys = await phone.copyPasskeys()
      await computer.addPasskeys(passkeys)
      await computer.page.goto(`${service.bank.origin}/`)
      const proved = await proveFrom(computer, { service, session, passkeys })
      if (proved !== PASSED) throw new Error(`the user could not go on: ${proved}`)
      return [
        {
          ended: repeated === 'bonded' ? PASSED : repeated,
          stoppedBy: 'still_waiting',
        },
      ]
    },
  },
]

/** Has the page's browser create a passkey for the text, as the service's relying party. */
async function createIn(
  page: Page,
  { payload, id }: { readonly payload: string; readonly id: string },
): Promise<Prompted> {
  const options = JSON.stringify({
    challenge: hash('sha256', payload, 'base64url'),
    rp: { id: HOSTS.related, name: 'Another passkey' },
    user: { id: 'AAAA', name: 'user', displayName: 'user' },
    pubKeyCredParams: [{ type: 'public-key', alg: -7 }],
  })
  const created = await page.evaluate(`navigator.credentials
    .create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(${options}) })
    .then((credential) => credential.toJSON().response)`)
  const { clientDataJSON, authenticatorData } = created as Readonly<Record<string, string>>
  return assertionOf(id, { clientDataJSON, authenticatorData, signature: 'A'.repeat(96) })
}

/** The phone's assertion, in the form of a browser's. */
function approvalOf(body: object): Prompted {
  const { app_attest } = body as { readonly app_attest: Readonly<Record<string, string>> }
  const { key_id = '', client_data_json, authenticator_data, signature } = app_attest
  return assertionOf(key_id, {
    clientDataJSON: client_data_json,
    authenticatorData: authenticator_data,
    signature,
  })
}
