import { copyFile } from 'node:fs/promises'
import {
  COMPLETION_SECRET_HEADER,
  type CompletionOutcome,
  type CreatedSession,
  type DeviceId,
  type EndedReason,
  type EventType,
  hasEnded,
  OUTCOME_HEADER,
  type SessionId,
  WATCH_HEADER,
} from '@bonded/contract'
import { MAX_FAILED_ASSERTIONS, MAX_VALID_ASSERTIONS } from '@bonded/core/domain/lifetimes'
import { moveDevice } from '@bonded/core/operations/admin/devices'
import { killSessionAsOperator } from '@bonded/core/operations/admin/kill-session'
import { listEndpoints } from '@bonded/core/operations/admin/webhooks'
import { OperatorError } from '@bonded/core/operations/admin/operator-error'
import { nodeFetch, type Outcome, PhoneError } from '@bonded/simulator'
import { describeRejection } from '../phone/describe-run.ts'
import type { Stage } from './stage.ts'

/** Takes real calls to the change that an event is sent for. */
export type Script = (stage: Stage) => Promise<void>

/** The one script of an event that has no reasons. */
export const ANY = 'any'

/** How a session ends without a completion, by the reason that its tenant reads. */
const KILLED: Readonly<Record<EndedReason, Script>> = {
  user_declined: (stage) => play(stage, 'decline'),
  user_unexpected: (stage) => play(stage, 'not-me'),
  async canceled(stage) {
    const { id, watch_token } = await stage.create()
    await stage.call(`/sessions/${id}/cancel`, {
      token: await stage.publishableKey(),
      headers: { origin: stage.tenant.origins[0] ?? '', [WATCH_HEADER]: watch_token },
    })
  },
  policy_not_met: (stage) => approveLocked(stage, MAX_VALID_ASSERTIONS),
  too_many_attempts: forge,
  async killed_by_tenant(stage) {
    const { id } = await stage.create()
    await stage.call(`/sessions/${id}`, { method: 'DELETE' })
  },
  async killed_by_operator(stage) {
    const { id } = await stage.create()
    await killSessionAsOperator(stage.service, id as SessionId)
  },
}

/** How a session is completed, by what the backend says. */
const COMPLETED: Readonly<Record<CompletionOutcome, Script>> = {
  accepted: (stage) => complete(stage, 'accepted'),
  in_review: (stage) => complete(stage, 'in_review'),
}

/** How to cause each event. Where it has several reasons, one script for each, the usual first. */
export const SCRIPTS: Readonly<Record<EventType, Readonly<Record<string, Script>>>> = {
  'session.created': { [ANY]: async (stage) => void (await stage.create()) },
  'session.step_up_required': { [ANY]: (stage) => approveLocked(stage, 1) },
  'session.bonded': { [ANY]: (stage) => play(stage, 'approve') },
  'session.completed': COMPLETED,
  'session.killed': KILLED,
  'session.expired': { [ANY]: expire },
  'session.reported': { [ANY]: KILLED.user_unexpected },
  'device.suspect': { [ANY]: copyKey },
  'device.blocked': { [ANY]: block },
  'device.key_added': { [ANY]: addKey },
  'webhook.test': { [ANY]: testEndpoints },
}

async function play(stage: Stage, outcome: Outcome): Promise<void> {
  const { qr_payload } = await stage.create()
  const phone = stage.phone()
  stage.deviceId = (await phone.register()).device_id
  const { rejection } = await phone.run(qr_payload, outcome)
  if (rejection !== undefined) throw new OperatorError(describeRejection(rejection))
}

async function complete(stage: Stage, outcome: CompletionOutcome): Promise<void> {
  await play(stage, 'approve')
  const { id, completion_secret } = sessionOf(stage)
  await stage.call(`/sessions/${id}/form-completed`, {
    headers: { [COMPLETION_SECRET_HEADER]: completion_secret, [OUTCOME_HEADER]: outcome },
  })
}

/** Sends approvals of a phone that its user has not unlocked. */
async function approveLocked(stage: Stage, attempts: number): Promise<void> {
  const { qr_payload } = await stage.create({ stepsUp: true })
  const request = await stage.phone().scan(qr_payload)
  const stop = new AbortController()
  let sent = 0
  const onResponse = () => {
    sent += 1
    if (sent === attempts) stop.abort()
  }
  await request
    .approve({ evidence: () => 'locked', onResponse, signal: stop.signal })
    .catch(ignoring('cancelled', 'policy_not_met'))
}

/** Sends approvals that are not the key's: another hash than that of the signed data. */
async function forge(stage: Stage): Promise<void> {
  const { qr_payload } = await stage.create()
  const forging: typeof nodeFetch = (url, request) =>
    nodeFetch(url, url.endsWith('/attestations') ? withForgedHash(request) : request)
  const request = await stage.phone(stage.phoneFile(), forging).scan(qr_payload)
  for (let attempt = 0; attempt < MAX_FAILED_ASSERTIONS; attempt++)
    await request.approve({ evidence: () => 'carried' }).catch(ignoring('assertion_invalid'))
}

function withForgedHash(request: Parameters<typeof nodeFetch>[1]): typeof request {
  const body = JSON.parse(request.body ?? '{}') as { app_attest: object }
  const app_attest = { ...body.app_attest, client_data_hash: 'A'.repeat(43) }
  return { ...request, body: JSON.stringify({ ...body, app_attest }) }
}

/** Waits for the service's time: no call ends a session early in this way. */
async function expire(stage: Stage): Promise<void> {
  const session = await stage.create()
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

async function block(stage: Stage): Promise<void> {
  await play(stage, 'approve')
  await moveDevice(stage.service, stage.deviceId as DeviceId, 'block')
}

async function addKey(stage: Stage): Promise<void> {
  await play(stage, 'approve')
  const phone = await stage.phone().library()
  const second = await stage.phone(stage.phoneFile('second')).library()
  await second.acceptKey(await phone.addKey(await second.proposeKey()))
}

async function testEndpoints(stage: Stage): Promise<void> {
  for (const { id } of await listEndpoints(stage.service, stage.tenant.id))
    await stage.call(`/webhook-endpoints/${id}/test`)
}

function sessionOf({ session }: Stage): CreatedSession {
  if (session === undefined) throw new OperatorError('No session was created')
  return session
}

/** Ignores the rejections that a script is for. */
function ignoring(...expected: readonly string[]): (failure: unknown) => void {
  return (failure) => {
    const isExpected =
      failure instanceof PhoneError &&
      (expected.includes(failure.code) || expected.includes(failure.reason ?? ''))
    if (!isExpected) throw failure
  }
}
