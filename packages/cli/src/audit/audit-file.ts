import {
  appendFileSync,
  existsSync,
  readFileSync,
  renameSync,
  statSync,
  truncateSync,
} from 'node:fs'
import type { AuditEntry } from '@bonded/core/domain/audit'

const LINE_FEED = 10

/** What a line says about the place of its entry. */
interface ExportedEntry {
  readonly metadata: { readonly sequence: number }
  readonly unmapped: { readonly previous: string }
}

/** The file of exported entries, to which a shipper listens. A full one is renamed to `.1`. */
export class AuditFile {
  readonly #file: string
  readonly #maxBytes: number
  readonly #keep: number

  /** @param kept how many renamed files stay beside it */
  constructor(file: string, { maxBytes, keep }: { maxBytes: number; keep: number }) {
    this.#file = file
    this.#maxBytes = maxBytes
    this.#keep = keep
  }

  /**
   * The last entry in the file, or in the one before it; undefined if there is none. It cuts off a
   * line that a crash has left unfinished.
   */
  last(): Pick<AuditEntry, 'number' | 'previous'> | undefined {
    this.#cutUnfinished()
    for (const file of [this.#file, `${this.#file}.1`]) {
      const last = existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n').at(-1) : ''
      if (!last) continue
      const { metadata, unmapped } = JSON.parse(last) as ExportedEntry
      return { number: metadata.sequence, previous: unmapped.previous }
    }
    return undefined
  }

  /** Appends lines, and returns when they are on the disk. */
  append(lines: readonly string[]): void {
    const text = Buffer.from(lines.map((line) => `${line}\n`).join(''))
    const size = existsSync(this.#file) ? statSync(this.#file).size : 0
    if (size > 0 && size + text.length > this.#maxBytes) this.#rotate()
    appendFileSync(this.#file, text, { mode: 0o640, flush: true })
  }

  #rotate(): void {
    for (let number = this.#keep; number > 0; number--) {
      const from = number === 1 ? this.#file : `${this.#file}.${number - 1}`
      if (existsSync(from)) renameSync(from, `${this.#file}.${number}`)
    }
  }

  #cutUnfinished(): void {
    if (!existsSync(this.#file)) return
    const bytes = readFileSync(this.#file)
    if (bytes.length === 0 || bytes.at(-1) === LINE_FEED) return
    truncateSync(this.#file, bytes.lastIndexOf(LINE_FEED) + 1)
  }
}
