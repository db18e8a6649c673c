import type { Config } from '@bonded/server/settings/config'
import type { Options } from '../program/open.ts'
import type { StoredService } from './stored-service.ts'

export interface DoctorOptions extends Options {
  readonly backups?: string
}

/** The result of one check: a summary, or the problem and its remedy. */
export interface Finding {
  readonly check: string
  readonly ok: boolean
  /** What stops no service, and probably keeps users from something. */
  readonly warnings?: readonly string[]
  /** Whether nothing was checked, because something else was missing. */
  readonly skipped?: true
  readonly says: string
}

/** Returns a summary, and warnings if any. A thrown error is the problem. */
export type Check = (
  config: Config,
  options: DoctorOptions,
  stored: StoredService,
) => Summary | Promise<Summary>
export type Summary = string | Pick<Finding, 'says' | 'warnings' | 'skipped'>
