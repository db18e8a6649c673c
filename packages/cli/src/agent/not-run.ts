/** Why a command was not run. Each has an exit code, which no failure of other commands has. */
export type NotRunCode = 'approval_declined' | 'approval_expired' | 'not_run'

/** A command that `bonded approve` has not started. */
export class NotRun extends Error {
  override readonly name = 'NotRun'
  readonly code: NotRunCode

  constructor(code: NotRunCode, message: string, options?: ErrorOptions) {
    super(`${message} The command did not run.`, options)
    this.code = code
  }
}
