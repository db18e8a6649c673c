import { randomBytes } from 'node:crypto'
import type { CreatedSession } from '@bonded/contract'
import { type Mode, PASSED } from './bank.ts'
import { type Computer, credentialId, type Passkey } from './people.ts'
import { drawSecret, promptPage, proofPayload, sendProof } from './proof.ts'
import { ACTION, type RelayService, type RelayTenant, WORKFLOWS } from './relay-service.ts'
import type { Person } from './stage.ts'

/** Creates a session, as a tenant's backend does. Null names no user. */
export async function createSession(
  service: RelayService,
  {
    mode,
    subjectRef,
    tenant = service.bank,
  }: { readonly mode: Mode; readonly subjectRef: string | null; readonly tenant?: RelayTenant },
): Promise<CreatedSession> {
  const { body } = await service.call({
    method: 'POST',
    path: '/sessions',
    token: tenant.serverCredential,
    headers: { 'idempotency-key': randomBytes(16).toString('hex') },
    body: {
      workflow: WORKFLOWS[mode],
      action: ACTION,
      ...(subjectRef === null ? {} : { subject_ref: subjectRef }),
    },
  })
  return body as CreatedSession
}

/** A session that the user's phone has approved, and that waits for the browser. */
export async function approvedSession(
  service: RelayService,
  { phone, subjectRef }: Person,
): Promise<CreatedSession> {
  const session = await createSession(service, { mode: 'with', subjectRef })
  await phone.approve(session)
  return session
}

/** Proves the browser from the computer's page, as the widget does there. Returns how it ended. */
export async function proveFrom(
  { page }: Pick<Computer, 'page'>,
  {
    service,
    session,
    passkeys,
  }: {
    readonly service: RelayService
    readonly session: CreatedSession
    readonly passkeys: readonly Passkey[]
  },
): Promise<string> {
  const { commitment } = drawSecret()
  const prompted = await promptPage(page, {
    rpId: service.rpId,
    credentialIds: passkeys.map(credentialId),
    payload: proofPayload(session, { tenant: service.bank, commitment }),
  })
  return sendProof(service, session, { commitment, prompted })
}

/** The state of a session as an attempt: only a bond passes. */
export async function bonds(service: RelayService, session: CreatedSession): Promise<string> {
  const { state } = await service.read(session)
  return state === 'bonded' ? PASSED : state
}
