import type { AuditedAction } from '../../domain/audit.ts'
import { recordAction } from '../audit/audit.ts'
import type { Service } from '../service.ts'
import { beginLogAsOperator, type BegunLog } from './begin-receipt-log.ts'
import { endLiveSessions } from './end-live-sessions.ts'

/** What a restore has changed in the database. */
export interface AfterRestore {
  readonly killed: number
  /** Undefined if the log of receipts goes on. */
  readonly log: BegunLog | undefined
}

/**
 * Ends what may have gone on after the backup: live sessions, and the log of receipts, whose later
 * entries were published. The audit log of the restored database begins anew after the backup, with
 * this entry.
 *
 * @param isComplete whether nothing happened after the backup
 */
export async function afterRestore(
  service: Service,
  { isComplete, action }: { readonly isComplete: boolean; readonly action: AuditedAction },
): Promise<AfterRestore> {
  await recordAction(service, action)
  if (isComplete) return { killed: 0, log: undefined }
  const killed = await endLiveSessions(service)
  return { killed, log: await beginLogAsOperator(service, 'restore') }
}
