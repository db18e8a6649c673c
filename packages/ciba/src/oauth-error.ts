import { ApprovalError, NotStarted } from '@bonded/integrator/approval'
import { GateError } from '@bonded/integrator'
import { errors } from 'oidc-provider'

/** The error of OAuth for one of the library of approvals. An unknown one is a server error. */
export function oauthError(error: unknown, whenUnavailable: () => Error): unknown {
  if (error instanceof NotStarted && error.cause !== undefined)
    return oauthError(error.cause, whenUnavailable)
  if (error instanceof ApprovalError) return fromApproval(error)
  return error instanceof GateError ? fromGate(error, whenUnavailable) : error
}

function fromApproval({ code, message }: ApprovalError): Error {
  if (code === 'arguments_invalid' || code === 'text_too_long')
    return new errors.InvalidAuthorizationDetails(message)
  return code === 'not_approved'
    ? new errors.AccessDenied(message)
    : new errors.InvalidGrant('the approval was used, and authorizes one token')
}

function fromGate(error: GateError, whenUnavailable: () => Error): Error {
  const { reason, param, message, retryable } = error
  if (reason === 'subject_has_no_phone') return new errors.UnknownUserId(message)
  if (reason === 'inbox_paused') return new errors.AccessDenied(message)
  if (retryable) return whenUnavailable()
  return param?.startsWith('context') ? new errors.InvalidAuthorizationDetails(message) : error
}
