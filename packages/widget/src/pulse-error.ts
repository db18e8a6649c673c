/** The codes that a page's code can branch on after a wrong call of `Pulse`. */
export type PulseErrorCode =
  | 'not_initialised'
  | 'publishable_key_invalid'
  | 'server_credential_exposed'
  | 'workflow_invalid'
  | 'container_id_invalid'
  | 'session_endpoint_invalid'
  | 'session_endpoint_credentials_invalid'
  | 'action_invalid'
  | 'session_invalid'
  | 'session_mismatch'
  | 'completion_secret_exposed'
  | 'context_invalid'
  | 'on_retry_invalid'
  | 'appearance_invalid'
  | 'locale_invalid'
  | 'script_not_hosted'

/**
 * The error of a wrong call, thrown at once. Branch on `code`; the message names the fix.
 *
 * @example new PulseError('action_invalid', 'Pass `action`.').code // 'action_invalid'
 */
export class PulseError extends Error {
  // Both compile to less than a field, for which a browser of 2020 needs a helper.
  declare readonly code: PulseErrorCode

  override get name() {
    return 'PulseError'
  }

  constructor(code: PulseErrorCode, message: string) {
    super(message)
    this.code = code
  }
}
