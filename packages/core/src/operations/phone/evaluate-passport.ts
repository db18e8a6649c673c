import type { PassportSignal, PassportTier } from '@bonded/contract'
import { accept, type Result } from '../../domain/rejection.ts'
import type { PhoneFacts } from '../../protocol/facts.ts'
import type { Service } from '../service.ts'

/**
 * Returns the tier of a passport that the phone sent. Only the tier is stored, in the summary. The
 * timeline gets what the verifier found unusual.
 */
export async function evaluateAndNotePassport(
  service: Service,
  { session, tenant, nonce }: PhoneFacts,
  passport: PassportSignal | undefined,
): Promise<Result<PassportTier | undefined>> {
  if (passport === undefined) return accept(undefined)
  const note = (reason: string, step: string | null) =>
    service.store.write((tables) =>
      tables.sessions.note(session.id, { at: service.clock.now(), kind: 'note', reason, step }),
    )
  // A passport that the workflow does not use is not evaluated.
  if (session.policy.passport === 'none') {
    await note('passport_not_asked', null)
    return accept(undefined)
  }
  const verified = await service.passports.verify({
    passport,
    nonce,
    environment: tenant.environment,
  })
  if (!verified.ok) return verified
  const { tier, note: step } = verified.value
  if (step !== undefined) await note(`passport_${tier}`, step)
  return accept(tier)
}
