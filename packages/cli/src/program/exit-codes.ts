import type { Explained } from './explain.ts'

interface ExitCode {
  readonly exit: number
  readonly meaning: string
  /** The codes of failures that end with it. Undefined for all others. */
  readonly codes?: readonly string[]
}

/** How a command ends, by what a script does next. The command reference is generated from it. */
export const EXIT_CODES = {
  success: { exit: 0, meaning: 'success', codes: [] },
  failed: { exit: 1, meaning: 'the command failed, or was rejected' },
  usage: {
    exit: 2,
    meaning: 'wrong usage or configuration: the same command fails again',
    codes: ['usage', 'configuration_invalid', 'root_key_invalid', 'session_id_key_unusable'],
  },
  not_found: { exit: 3, meaning: 'what the command names does not exist', codes: ['not_found'] },
  unavailable: {
    exit: 4,
    meaning: 'the service or its database does not answer now: try again later',
    codes: ['database_busy', 'database_locked', 'database_unreachable', 'unreachable'],
  },
  declined: {
    exit: 123,
    meaning: '`bonded approve`: the user declined, and the command did not run',
    codes: ['approval_declined'],
  },
  expired: {
    exit: 124,
    meaning: '`bonded approve`: the user did not answer in time, and the command did not run',
    codes: ['approval_expired'],
  },
  not_run: {
    exit: 125,
    meaning: '`bonded approve`: the command did not run for another reason',
    codes: ['not_run'],
  },
} as const satisfies Record<string, ExitCode>

/** The exit code of a failure. */
export function exitCodeOf({ code, usage }: Pick<Explained, 'code' | 'usage'>): number {
  const { usage: wrong, failed, ...others } = EXIT_CODES
  if (usage) return wrong.exit
  const listed: readonly ExitCode[] = Object.values(others)
  return listed.find(({ codes }) => codes?.includes(code))?.exit ?? failed.exit
}
