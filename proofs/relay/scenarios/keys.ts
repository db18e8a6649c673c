import { hash } from 'node:crypto'
import {
  canonicalJson,
  deviceAddPayload,
  type DeviceId,
  type DeviceRegistration,
  type RegistrationOf,
  type SubjectKeys,
} from '@bonded/contract'
import { moveDevice } from '@bonded/core/operations/admin/devices'
import { createSimulatedPhone, nodeFetch } from '@bonded/simulator'
import { PASSED } from '../rig/bank.ts'
import { APPROVED, openPhone, type Phone } from '../rig/people.ts'
import { visitBank } from '../rig/bank-tab.ts'
import { approveWith, createProgramPhone, join, type ProgramPhone } from '../rig/program-phone.ts'
import { drawSecret, proofPayload, sendProof } from '../rig/proof.ts'
import type { RelayService } from '../rig/relay-service.ts'
import { createSession } from '../rig/sessions.ts'
import { OF_DOMAIN, type Stage } from '../rig/stage.ts'
import type { Mode } from '../rig/bank.ts'
import type { Attempt, Scenario } from '../scenario.ts'
import { type Relay, relay, submitRelayed } from './relay.ts'

const HOUR_MS = 60 * 60_000
/** Longer than an added phone waits. */
const AFTER_WAIT_MS = 73 * HOUR_MS

/** Proves the attacker's browser with a key that a program holds, and submits. */
async function submitWith(
  { key }: ProgramPhone,
  { service, tab, session }: Pick<Relay, 'service' | 'tab' | 'session'>,
): Promise<string> {
  const { secret, commitment } = drawSecret()
  const payload = proofPayload(session, { tenant: service.bank, commitment })
  const prompted = { assertion: key.confirm(payload, service.bank.origin) }
  const ended = await sendProof(service, session, { commitment, prompted })
  return ended === PASSED ? tab.submit(session, secret) : ended
}

/** The attacker's phone has joined the victim's subject, and serves the victim's account. */
async function joinVictim(stage: Stage, mode: Mode): Promise<Attempt> {
  return relay(stage, { mode }, async (relayed) => {
    const { service, victim, session } = relayed
    const added = createProgramPhone(service)
    await join(service, { added, by: victim.phone })
    const state = await approveWith(added, session)
    const isApproved = state === 'bonded' || state === 'step_up_required'
    const submit = () => (mode === 'with' ? submitWith(added, relayed) : submitRelayed(relayed))
    return {
      name: 'into the victim’s subject',
      ended: isApproved ? await submit() : state,
      stoppedBy: 'key_too_new',
    }
  })
}

/**
 * The attacker's phone has joined, and adds a further one at once. The victim removes the first,
 * and looks no further.
 */
async function joinTwice(stage: Stage): Promise<Attempt> {
  await using service = await stage.newService(OF_DOMAIN)
  const { phone, subjectRef } = await stage.victim(service)
  const [added, planted] = [createProgramPhone(service), createProgramPhone(service)]
  const { device_id } = await join(service, { added, by: phone })
  const attack = async () => {
    const proposed = await planted.library.proposeKey()
    await planted.library.acceptKey(await added.library.addKey(proposed))
    await moveDevice(service.operator, device_id as DeviceId, 'remove')
    service.clock.advance(AFTER_WAIT_MS)
    const session = await createSession(service, { mode: 'with', subjectRef })
    const state = await approveWith(planted, session)
    return state === 'step_up_required' ? PASSED : state
  }
  const reasonOf = (failure: { readonly reason?: unknown }) => String(failure.reason ?? failure)
  return {
    name: 'and adds a further one',
    ended: await attack().catch(reasonOf),
    stoppedBy: 'key_too_new',
  }
}

/** The victim's phone has joined the attacker's subject, and bonds the victim's account first. */
async function joinAttacker(stage: Stage): Promise<readonly Attempt[]> {
  await using service = await stage.newService(OF_DOMAIN)
  const thief = createProgramPhone(service)
  await thief.library.register()
  await using phone = await openPhone(stage.browser)
  // The new phone hands its registration over, and the attacker's approves and sends it.
  await phone.page.route('**/api/v1/devices', async (route) => {
    const registration = route.request().postDataJSON() as DeviceRegistration
    const added = await thief.library.addKey(registration)
    const { device_id, subject_id, key_id } = added
    await route.fulfill({
      status: 201,
      json: {
        device_id,
        subject_id,
        key_id,
        status: 'active',
        format: 'webauthn',
        environment: 'production',
        device_token: added.device_token.reveal(),
        device_token_renew_at: added.token_renew_at,
        device_token_expires_at: new Date(service.clock.now() + AFTER_WAIT_MS * 10).toISOString(),
      },
    })
  })
  const bondFirst = async () => {
    const session = await createSession(service, { mode: 'with', subjectRef: null })
    const screen = await phone.tryToApprove(session)
    return APPROVED.includes(screen) ? PASSED : service.lastStep(session)
  }
  const stoppedBy = 'older_phone_active'
  const atOnce = await bondFirst()
  service.clock.advance(AFTER_WAIT_MS)
  return [
    { name: 'into the attacker’s subject', ended: atOnce, stoppedBy },
    { name: 'the same, 73 hours later', ended: await bondFirst(), stoppedBy },
  ]
}

/** A phone without a passkey approves. It cannot answer in a browser. */
async function approveBySoftware(service: RelayService): Promise<string> {
  const { origin, address } = service
  const { universal_link } = await createSession(service, { mode: 'with', subjectRef: null })
  const phone = createSimulatedPhone({
    origin,
    fetch: (url, request) => nodeFetch(url.replace(origin, address), request),
  })
  const { rejection, state } = await phone.run(universal_link, 'approve')
  // Its user must not approve in vain, so the claim rejects it already.
  return state === undefined ? String(rejection?.reason) : `claimed: ${state}`
}

/** A bank whose gate does not name the user. The attacker's own phone and browser would do. */
async function bondUnnamed(stage: Stage, own: ProgramPhone): Promise<string> {
  const service = stage.service('related')
  await using bank = await stage.openBank(service, {
    mode: 'with',
    accounts: { victim: null },
    firstBond: false,
  })
  await using attacker = await stage.computer()
  const tab = await visitBank(attacker, bank, { as: 'victim' })
  const created = (await tab.page.evaluate(
    `fetch('/bond-session', { method: 'POST' }).then((response) => response.json())`,
  )) as Relay['session'] & { readonly reason?: string }
  if (created.reason !== undefined) return created.reason
  await approveWith(own, created)
  return await submitWith(own, { service, tab, session: created })
}

/** Registers the attacker's key with the victim's token, and an approval of the attacker's own. */
async function plant(
  service: RelayService,
  { phone, planted }: { readonly phone: Phone; readonly planted: ProgramPhone },
): Promise<Readonly<Record<'bare' | 'forged' | 'added', string>>> {
  const token = phone.token()
  const send = async (body: object, path = '/devices') => {
    const { status, reason } = await service.call({ method: 'POST', path, token, body })
    return status < 300 ? PASSED : String(reason)
  }
  const bare = await send(await planted.library.proposeKey())
  const { body } = await service.call({ method: 'GET', path: '/devices', token })
  const { subject_id, keys, server_time } = body as SubjectKeys
  const registration = await planted.library.proposeKey()
  const payload = deviceAddPayload({
    challenge: registration.challenge,
    format: registration.format,
    registration: hash('sha256', canonicalJson(registration), 'base64url'),
    device_id: keys[0]?.device_id ?? '',
    subject_id,
    issued_at: server_time,
    origin: service.origin,
  })
  const approval = { issued_at: server_time, app_attest: planted.key.assert(payload) }
  const { challenge, registration: key } =
    (await planted.library.proposeKey()) as RegistrationOf<'webauthn'>
  const browser_key = { challenge, registration: key }
  return {
    bare,
    forged: await send({ ...registration, approval }),
    added: await send({ ...phone.assertion(), browser_key }, '/attestations'),
  }
}

/** Another key than that of the phone that approved. */
export const KEYS: readonly Scenario[] = [
  {
    number: 8,
    title: 'Another user’s passkey, and another key of the victim',
    today: false,
    run: (stage, mode) =>
      relay(stage, { mode }, async (relayed) => {
        const { service, victim, session } = relayed
        const [own, second] = [createProgramPhone(service), createProgramPhone(service)]
        await own.library.register()
        await join(service, { added: second, by: victim.phone })
        const software = await approveBySoftware(service)
        await victim.phone.approve(session)
        const stoppedBy = 'credential'
        const unnamed = await bondUnnamed(stage, own)
        return [
          { name: 'no passkey', ended: software, stoppedBy: 'browser_key_required' },
          { name: 'no user at the gate', ended: unnamed, stoppedBy: 'invalid_request' },
          { name: 'another user', ended: await submitWith(own, relayed), stoppedBy },
          { name: 'another key', ended: await submitWith(second, relayed), stoppedBy },
        ]
      }),
  },
  {
    number: 9,
    title: 'A phone that joined yesterday by a relayed approval',
    today: true,
    run: async (stage, mode) => [
      await joinVictim(stage, mode),
      // Every workflow stops the other direction.
      ...(mode === 'with' ? [await joinTwice(stage), ...(await joinAttacker(stage))] : []),
    ],
  },
  {
    number: 10,
    title: 'A browser key planted with a stolen device token',
    today: true,
    run: (stage, mode) =>
      relay(stage, { mode }, async (relayed) => {
        const { service, victim, session } = relayed
        await victim.phone.approve(session)
        // Without the requirement, the relayed approval is enough.
        if (mode === 'without') return [{ ended: await submitRelayed(relayed), stoppedBy: '' }]
        const planted = createProgramPhone(service)
        const { bare, forged, added } = await plant(service, { phone: victim.phone, planted })
        return [
          { name: 'without an approval', ended: bare, stoppedBy: 'key_approval_required' },
          { name: 'with a forged one', ended: forged, stoppedBy: 'assertion_invalid' },
          { name: 'added to an approval', ended: added, stoppedBy: 'assertion_invalid' },
          {
            name: 'as proof',
            ended: await submitWith(planted, relayed),
            stoppedBy: 'credential',
          },
        ]
      }),
  },
]
