import { BASELINE } from './baseline.ts'

/** A step of the schema. Each database stores its number, its name and its checksum. */
export interface Step {
  readonly number: number
  readonly name: string
  readonly statements: readonly string[]
  /** The statements for PostgreSQL, where they differ. */
  readonly postgres?: readonly string[]
  /**
   * Whether the version before can work with the result, because the step only adds what that
   * version does not write. On PostgreSQL such a version may run beside this one.
   */
  readonly expands?: true
}

/** The steps of the schema. A released step never changes. A new one goes to the end. */
export const MIGRATIONS: readonly Step[] = [BASELINE]
