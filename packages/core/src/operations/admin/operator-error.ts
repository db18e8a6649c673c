import type { DeviceId, SessionId, TenantId, SubjectId } from '@bonded/contract'
import type { Tables } from '../../ports/store.ts'
import type { Work } from '../../ports/work.ts'

/** A stable code for scripts when an operator's command is rejected. */
export type OperatorErrorCode =
  | 'not_found'
  | 'conflict'
  | 'invalid'
  | 'rejected'
  | 'unreachable'
  | 'output_lost'

/** An operator's command that cannot be carried out. The message is for the operator. */
export class OperatorError extends Error {
  readonly code: OperatorErrorCode
  override readonly name = 'OperatorError'

  constructor(
    message: string,
    { code = 'rejected', cause }: { code?: OperatorErrorCode; cause?: unknown } = {},
  ) {
    super(message, { cause })
    this.code = code
  }
}

/**
 * @param of.level the first that knows the feature
 * @throws {OperatorError} where a node of an older version serves, which ignores the feature
 */
export function* rejectOlderNode(
  tables: Pick<Tables, 'claimLevel'>,
  { level, feature }: { readonly level: number; readonly feature: string },
): Work<void> {
  if (!(yield* tables.claimLevel(level)))
    throw new OperatorError(
      `A node of an older version serves, and would ignore the ${feature}. Upgrade all nodes, and try again 10 seconds later`,
      { code: 'conflict' },
    )
}

/** The error for a tenant that does not exist. */
export function tenantNotFound(id: TenantId): OperatorError {
  return new OperatorError(`No tenant ${id}`, { code: 'not_found' })
}

/** The error for a session that does not exist. */
export function sessionNotFound(id: SessionId): OperatorError {
  return new OperatorError(
    `No session ${id}. The service deletes sessions some time after they end, by default 24 hours`,
    {
      code: 'not_found',
    },
  )
}

/** The error for a device that does not exist. */
export function deviceNotFound(id: DeviceId): OperatorError {
  return new OperatorError(`No device ${id}`, { code: 'not_found' })
}

/** The error for a key that does not exist. */
export function keyNotFound(): OperatorError {
  return new OperatorError('No such key. List the keys with bonded key list <tenant>', {
    code: 'not_found',
  })
}

/**
 * The error for a subject that does not exist: no device of it is stored, and it is not blocked.
 */
export function subjectNotFound(id: SubjectId): OperatorError {
  return new OperatorError(`No subject ${id}`, { code: 'not_found' })
}
