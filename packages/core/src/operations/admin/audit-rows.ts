import { type AuditEntry, auditLeaf, hex } from '../../domain/audit.ts'
import { RETENTION_BOUNDS } from '../../domain/retention.ts'
import type { Service } from '../service.ts'

/** How many rows one read returns. */
const BATCH = 500
const DAY_MS = 24 * 60 * 60_000

/** Reads the audit log once, in its order, and notes what is missing, changed, or out of order. */
export class AuditRows {
  readonly #service: Service
  readonly #problems: string[]
  #read: readonly AuditEntry[] = []
  /** The number of the latest entry. */
  #number = 0
  /** Its hash; undefined if it is not stored. */
  #hash: string | undefined = ''
  /** How many rows were read, and how many of them have their content. */
  #rows = 0
  #retained = 0

  constructor(service: Service, problems: string[]) {
    this.#service = service
    this.#problems = problems
  }

  /** How many entries were recorded up to the latest one. */
  get entries(): number {
    return this.#number
  }

  /** How many entries were deleted, or have no content, because their retention has ended. */
  get purged(): number {
    return this.#number - this.#retained
  }

  /**
   * Reads the entries up to a number, or to the end.
   *
   * @returns the hash of the last one, which covers all before it; undefined if it is not stored
   */
  async readTo(last: number): Promise<string | undefined> {
    while (this.#number < last) {
      const entry = await this.#peek()
      const next = Math.min(entry?.number ?? Infinity, last + 1)
      if (next === Infinity) break
      if (next > this.#number + 1) this.#skip(next - 1, entry)
      else if (entry !== undefined) this.#take(entry)
    }
    return this.#hash
  }

  #take(entry: AuditEntry): void {
    const { number, previous, contentHash, at } = entry
    const { settings, clock, keys } = this.#service
    if (this.#hash !== undefined && previous !== this.#hash)
      this.#problems.push(`Entry ${number} does not continue entry ${number - 1}.`)
    // No tenant has a shorter retention.
    const { min } = (settings.retentionBounds ?? RETENTION_BOUNDS).audit
    if (contentHash !== null && at > clock.now() - min * DAY_MS)
      this.#problems.push(`Entry ${number} has lost its content before its retention ended.`)
    this.#number = number
    this.#hash = hex(auditLeaf(keys.sha256Bytes, entry))
    this.#rows++
    if (contentHash === null) this.#retained++
    this.#read = this.#read.slice(1)
  }

  /** Entries before the first one are deleted if that one shows that their retention has ended. */
  #skip(last: number, next: AuditEntry | undefined): void {
    const isDeleted = this.#rows === 0 && typeof next?.contentHash === 'string'
    const first = this.#number + 1
    if (!isDeleted)
      this.#problems.push(
        first === last ? `Entry ${last} is missing.` : `Entries ${first} to ${last} are missing.`,
      )
    this.#number = last
    this.#hash = undefined
  }

  /** The entry with the lowest number after the latest one. */
  async #peek(): Promise<AuditEntry | undefined> {
    if (this.#read.length === 0) {
      const after = this.#number
      this.#read = await this.#service.store.read(({ audit }) =>
        audit.list({ after, limit: BATCH }),
      )
    }
    return this.#read[0]
  }
}
