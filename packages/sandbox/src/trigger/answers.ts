import type { DeviceId, EndedReason, SessionId } from '@bonded/contract'
import { MAX_FAILED_ASSERTIONS, MAX_VALID_ASSERTIONS } from '@bonded/core/domain/lifetimes'
import { moveDevice } from '@bonded/core/operations/admin/devices'
import { killSessionAsOperator } from '@bonded/core/operations/admin/kill-session'
import { OperatorError } from '@bonded/core/operations/admin/operator-error'
import type { Service } from '@bonded/core/operations/service'
import {
  type EvidenceProfile,
  nodeFetch,
  type Outcome,
  PhoneError,
  type SimulatedPhone,
} from '@bonded/simulator'
import { describeRejection } from '../phone/describe-run.ts'

/** What the policy of a new session must require. */
export interface Needs {
  /** Something that the approval of a locked phone lacks. */
  readonly stepsUp?: boolean
  /** The proof of the browser. */
  readonly browser?: boolean
  /** The inbox of the user. */
  readonly inbox?: boolean
}

/** What answers a session: a phone, and an operator. */
export interface AnsweringParty {
  readonly service: Service
  /** The phone that answered. */
  deviceId: string | undefined
  /** The session to answer. */
  create(needs?: Needs): Promise<{ readonly id: string; readonly qr_payload: string }>
  phoneFile(name?: string): string
  phone(file?: string, fetch?: typeof nodeFetch): SimulatedPhone
}

/** Takes a session to an outcome by real calls. */
export type Answer = (party: AnsweringParty) => Promise<void>

/** How a session ends without its backend and its page, by the reason that the tenant reads. */
const ENDS = {
  user_declined: (party) => play(party, 'decline'),
  user_unexpected: (party) => play(party, 'not-me'),
  policy_not_met: (party) =>
    approveWith(party, { evidence: 'locked', attempts: MAX_VALID_ASSERTIONS }),
  too_many_attempts: forge,
  killed_by_operator: kill,
} satisfies Partial<Record<EndedReason, Answer>>

/** What a phone or an operator can do with a session that exists. */
export const ANSWERS = {
  bonded: (party) => play(party, 'approve'),
  /** Approves with weak evidence, and answers the step-up. */
  bonded_after_step_up: (party) => play(party, 'step-up'),
  step_up_required: (party) => approveWith(party, { evidence: 'locked', attempts: 1 }),
  /** Approves, and does not read the passport that the workflow requires. */
  passport_required: (party) => approveWith(party, { evidence: 'carried', attempts: 1 }),
  ...ENDS,
  device_blocked: block,
  device_key_added: addKey,
} satisfies Record<string, Answer>
export type AnswerName = keyof typeof ANSWERS

/** @throws {OperatorError} if the service rejects what the phone sends */
export async function play(
  party: AnsweringParty,
  outcome: Outcome,
  needs: Needs = {},
): Promise<void> {
  const { qr_payload } = await party.create(needs)
  const phone = party.phone()
  party.deviceId = (await phone.register()).device_id
  const { rejection } = await phone.run(qr_payload, outcome)
  if (rejection !== undefined) throw new OperatorError(describeRejection(rejection))
}

/** Sends approvals with this evidence, and answers no further step-up. */
async function approveWith(
  party: AnsweringParty,
  { evidence, attempts }: { readonly evidence: EvidenceProfile; readonly attempts: number },
): Promise<void> {
  const { qr_payload } = await party.create({ stepsUp: true })
  const request = await party.phone().scan(qr_payload)
  const stop = new AbortController()
  let sent = 0
  const onResponse = () => {
    sent += 1
    if (sent === attempts) stop.abort()
  }
  await request
    .approve({ evidence: () => evidence, onResponse, signal: stop.signal })
    .catch(ignoring('cancelled', 'policy_not_met'))
}

/** Sends approvals that are not the key's: another hash than that of the signed data. */
async function forge(party: AnsweringParty): Promise<void> {
  const { qr_payload } = await party.create()
  const forging: typeof nodeFetch = (url, request) =>
    nodeFetch(url, url.endsWith('/attestations') ? withForgedHash(request) : request)
  const request = await party.phone(party.phoneFile(), forging).scan(qr_payload)
  for (let attempt = 0; attempt < MAX_FAILED_ASSERTIONS; attempt++)
    await request.approve({ evidence: () => 'carried' }).catch(ignoring('assertion_invalid'))
}

function withForgedHash(request: Parameters<typeof nodeFetch>[1]): typeof request {
  const body = JSON.parse(request.body ?? '{}') as { app_attest: object }
  const app_attest = { ...body.app_attest, client_data_hash: 'A'.repeat(43) }
  return { ...request, body: JSON.stringify({ ...body, app_attest }) }
}

async function kill(party: AnsweringParty): Promise<void> {
  const { id } = await party.create()
  await killSessionAsOperator(party.service, id as SessionId)
}

async function block(party: AnsweringParty): Promise<void> {
  await play(party, 'approve')
  await moveDevice(party.service, party.deviceId as DeviceId, 'block')
}

async function addKey(party: AnsweringParty): Promise<void> {
  await play(party, 'approve')
  const phone = await party.phone().library()
  const second = await party.phone(party.phoneFile('second')).library()
  await second.acceptKey(await phone.addKey(await second.proposeKey()))
}

/** Ignores the rejections that an answer is for. */
function ignoring(...expected: readonly string[]): (failure: unknown) => void {
  return (failure) => {
    const isExpected =
      failure instanceof PhoneError &&
      (expected.includes(failure.code) || expected.includes(failure.reason ?? ''))
    if (!isExpected) throw failure
  }
}
