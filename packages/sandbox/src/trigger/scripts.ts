import { copyFile } from 'node:fs/promises'
import {
  COMPLETION_SECRET_HEADER,
  type CompletionOutcome,
  type CreatedSession,
  type EndedReason,
  type EventType,
  hasEnded,
  OUTCOME_HEADER,
  type SessionHint,
  type SessionId,
  WATCH_HEADER,
} from '@bonded/contract'
import { listEndpoints } from '@bonded/core/operations/admin/webhooks'
import { OperatorError } from '@bonded/core/operations/admin/operator-error'
import { type Move, MOVES } from '@bonded/core/protocol/states'
import { ANSWERS, play } from './answers.ts'
import type { Stage } from './stage.ts'

/** Takes real calls to the change that an event is sent for. */
export type Script = (stage: Stage) => Promise<void>

/** The one script of an event that has no reasons. */
export const ANY = 'any'

/** How a session ends without a completion, by the reason that its tenant reads. */
const KILLED: Readonly<Record<EndedReason, Script>> = {
  user_declined: ANSWERS.user_declined,
  user_unexpected: ANSWERS.user_unexpected,
  async canceled(stage) {
    const { id, watch_token } = await stage.create()
    await stage.call(`/sessions/${id}/cancel`, {
      token: await stage.publishableKey(),
      headers: { origin: stage.tenant.origins[0] ?? '', [WATCH_HEADER]: watch_token },
    })
  },
  policy_not_met: ANSWERS.policy_not_met,
  too_many_attempts: ANSWERS.too_many_attempts,
  async killed_by_tenant(stage) {
    const { id } = await stage.create()
    await stage.call(`/sessions/${id}`, { method: 'DELETE' })
  },
  killed_by_operator: ANSWERS.killed_by_operator,
  // Ends one session as a suspension does, which would end all others of the tenant too.
  tenant_suspended: (stage) => move(stage, MOVES.suspend),
  // The same, as the answer of another user in a quorum does.
  decided: (stage) => move(stage, MOVES.decide),
}

/** Moves a session without the call that would move others too. */
async function move(stage: Stage, to: Move): Promise<void> {
  const { id } = await stage.create()
  const { store, clock } = stage.service
  await store.write(function* ({ sessions }) {
    const session = yield* sessions.find(id as SessionId)
    if (session) yield* sessions.move(session, to, { now: clock.now() })
  })
}

/** How a session is completed, by what the backend says. */
const COMPLETED: Readonly<Record<CompletionOutcome, Script>> = {
  accepted: (stage) => complete(stage, 'accepted'),
  in_review: (stage) => complete(stage, 'in_review'),
}

/** What is still required, by the hint. */
const STEPS: Readonly<Partial<Record<SessionHint, Script>>> = {
  step_up: ANSWERS.step_up_required,
  browser: (stage) => play(stage, 'approve', { browser: true }),
}

/** How a session expires, by its state before. */
const EXPIRED: Readonly<Record<'pending' | 'bonded', Script>> = {
  async pending(stage) {
    await stage.create()
    await untilExpired(stage)
  },
  async bonded(stage) {
    await play(stage, 'approve')
    await untilExpired(stage)
  },
}

/** How to cause each event. Where it has several reasons, one script for each, the usual first. */
export const SCRIPTS: Readonly<Record<EventType, Readonly<Record<string, Script>>>> = {
  'session.created': { [ANY]: async (stage) => void (await stage.create()) },
  'session.waiting': { [ANY]: waitInInbox },
  'session.step_up_required': STEPS,
  'session.bonded': { [ANY]: ANSWERS.bonded },
  'session.completed': COMPLETED,
  'session.killed': KILLED,
  'session.expired': EXPIRED,
  'session.reported': { [ANY]: ANSWERS.user_unexpected },
  'device.suspect': { [ANY]: copyKey },
  'device.blocked': { [ANY]: ANSWERS.device_blocked },
  'device.key_added': { [ANY]: ANSWERS.device_key_added },
  'webhook.test': { [ANY]: testEndpoints },
}

/** The first bond of a user with a tenant is made on a page. */
async function waitInInbox(stage: Stage): Promise<void> {
  await play(stage, 'approve')
  const { subject_ref } = await stage.read(sessionOf(stage))
  await stage.pause()
  await stage.create({ inbox: true }, subject_ref ?? undefined)
}

async function complete(stage: Stage, outcome: CompletionOutcome): Promise<void> {
  await play(stage, 'approve')
  const { id, completion_secret } = sessionOf(stage)
  await stage.call(`/sessions/${id}/form-completed`, {
    headers: { [COMPLETION_SECRET_HEADER]: completion_secret, [OUTCOME_HEADER]: outcome },
  })
}

/** Waits for the service's time: no call ends a session early in this way. */
async function untilExpired(stage: Stage): Promise<void> {
  const session = sessionOf(stage)
  while (!hasEnded((await stage.read(session)).state)) await stage.pause()
}

/** Approves with a copy of the key, whose counter stands where the phone's was. */
async function copyKey(stage: Stage): Promise<void> {
  const copy = stage.phoneFile('copy')
  await stage.phone().register()
  await copyFile(stage.phoneFile(), copy)
  await play(stage, 'approve')
  // Only an assertion that was signed after the accepted ones proves that there is a copy.
  await stage.pause()
  const { qr_payload } = await stage.create()
  await stage.phone(copy).run(qr_payload, 'approve')
}

async function testEndpoints(stage: Stage): Promise<void> {
  for (const { id } of await listEndpoints(stage.service, stage.tenant.id))
    await stage.call(`/webhook-endpoints/${id}/test`)
}

function sessionOf({ session }: Stage): CreatedSession {
  if (session === undefined) throw new OperatorError('No session was created')
  return session
}
