import { type AuditEntry, auditLeaf, hex } from '../../domain/audit.ts'
import { RETENTION_BOUNDS } from '../../domain/retention.ts'
import type { Instant } from '../../domain/session.ts'
import type { Service } from '../service.ts'

/** How many rows one read returns. */
const BATCH = 500
const DAY_MS = 24 * 60 * 60_000

/** Reads the audit log once, in its order, and notes what is missing, changed, or out of order. */
export class AuditRows {
  readonly #service: Service
  readonly #problems: string[]
  #read: readonly AuditEntry[] = []
  /** The number that the next entry must have. */
  #next = 1
  #previous: AuditEntry | undefined
  /** The number of the latest row that was taken. */
  #taken = 0
  /** How many rows were read that have their content. */
  #retained = 0

  /** No tenant has a shorter retention. */
  readonly #retainedSince: Instant

  constructor(service: Service, problems: string[]) {
    const { audit } = service.settings.retentionBounds ?? RETENTION_BOUNDS
    this.#retainedSince = service.clock.now() - audit.min * DAY_MS
    this.#service = service
    this.#problems = problems
  }

  /** How many entries were deleted, or have no content, because their retention has ended. */
  get purged(): number {
    return this.#taken - this.#retained
  }

  /** Compares the next entries with the leaves that the log has of them. */
  async compare(leaves: readonly Uint8Array[]): Promise<void> {
    for (const leaf of leaves) {
      const number = this.#next
      const entry = await this.#take()
      if (entry === undefined) await this.#noteMissing(number)
      else if (this.#hashOf(entry) !== hex(leaf))
        this.#problems.push(`Entry ${number} is not what the log of receipts has.`)
    }
  }

  /** Skips entries up to a number. @returns the latest time of one of them */
  async skip(upTo: number): Promise<Instant> {
    let newest = 0
    while (this.#next <= upTo) newest = Math.max(newest, (await this.#take())?.at ?? 0)
    return newest
  }

  /** Reads the entries that the log does not have. @returns how many were recorded in all */
  async readRest(): Promise<number> {
    while ((await this.#peek()) !== undefined)
      if ((await this.#take()) === undefined) await this.#noteMissing(this.#next - 1)
    return this.#taken
  }

  /** The entry with the next number; undefined if there is none. */
  async #take(): Promise<AuditEntry | undefined> {
    const number = this.#next++
    const entry = await this.#peek()
    if (entry?.number !== number) {
      this.#previous = undefined
      return undefined
    }
    const { previous } = entry
    const isFollowing = this.#previous !== undefined
    const expected = this.#previous === undefined ? '' : this.#hashOf(this.#previous)
    if ((isFollowing || number === 1) && previous !== expected)
      this.#problems.push(`Entry ${number} does not continue entry ${number - 1}.`)
    if (entry.contentHash !== null && entry.at > this.#retainedSince)
      this.#problems.push(`Entry ${number} has lost its content before its retention ended.`)
    this.#previous = entry
    this.#read = this.#read.slice(1)
    this.#taken = number
    if (entry.contentHash === null) this.#retained++
    return entry
  }

  /** Entries before the first one are deleted if that one shows that their retention has ended. */
  async #noteMissing(number: number): Promise<void> {
    const isDeleted = this.#taken === 0 && typeof (await this.#peek())?.contentHash === 'string'
    if (!isDeleted) this.#problems.push(`Entry ${number} is missing.`)
  }

  /** The entry with the lowest number that was not taken. */
  async #peek(): Promise<AuditEntry | undefined> {
    if (this.#read.length === 0) {
      const after = this.#taken
      this.#read = await this.#service.store.read(({ audit }) =>
        audit.list({ after, limit: BATCH }),
      )
    }
    return this.#read[0]
  }

  #hashOf(entry: AuditEntry): string {
    return hex(auditLeaf(this.#service.keys.sha256Bytes, entry))
  }
}
