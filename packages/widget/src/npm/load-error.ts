/** Why `loadPulse` rejected. */
export type PulseLoadErrorCode =
  | 'origin_invalid'
  | 'integrity_without_version'
  | 'no_document'
  | 'script_blocked'
  | 'trusted_types_blocked'
  | 'other_script'

/**
 * The error of `loadPulse`. Branch on `code`; the message names the fix.
 *
 * @example new PulseLoadError('no_document', 'Call it in a browser.').code // 'no_document'
 */
export class PulseLoadError extends Error {
  override readonly name = 'PulseLoadError'
  readonly code: PulseLoadErrorCode

  constructor(code: PulseLoadErrorCode, message: string) {
    super(message)
    this.code = code
  }
}
