import { misfit } from '../mutants/mutant.ts'

/** A fault in a copy of a source file. `find` occurs in the file exactly once. */
export interface Edit {
  /** The path from the root of the repository. */
  readonly file: string
  readonly find: string
  readonly replace: string
}

/** A fault of a node on PostgreSQL that a check of histories must find. */
export interface PlantedFault {
  /** What the node does, as a sentence. */
  readonly name: string
  readonly edits: readonly Edit[]
}

/** Long enough for a read on another node that comes after the acknowledgment. */
const COMMITS_LATER_MS = 200
/** How long a node that keeps rows answers from them. */
const OUTDATED_MS = 200
const STORE = 'packages/store/src'

export const PLANTED_FAULTS: readonly PlantedFault[] = [
  {
    // Each of these edits alone changes nothing: the others still find the conflict.
    name: 'a change is made from an outdated row',
    edits: [
      {
        file: `${STORE}/dialect.ts`,
        find: "forUpdate: 'for no key update',",
        replace: "forUpdate: '',",
      },
      {
        file: `${STORE}/tables/session-table.ts`,
        find: 'and id = $2 and seq = $3 and valid_assertions = $4`',
        replace: 'and id = $2 and $3 >= 0 and $4 >= 0`',
      },
      {
        file: `${STORE}/tables/session-table.ts`,
        find: 'values ($1, $2, $3, $4, $5, $6, $7, null, $8, $9)`',
        replace: 'values ($1, $2, $3, $4, $5, $6, $7, null, $8, $9) on conflict do nothing`',
      },
    ],
  },
  {
    name: 'a node reads a session from its cache',
    edits: [
      {
        file: `${STORE}/postgres/shared-reads.ts`,
        find: 'results = await this.#parts.run(distinct.map(([, statement]) => statement))',
        replace: `const read = await this.#parts.run(distinct.map(([, statement]) => statement))
      results = distinct.map(([text], at) => {
        const kept = (this.kept ??= new Map())
        const began = performance.now()
        if (!(kept.get(text)?.until > began))
          kept.set(text, { until: began + ${OUTDATED_MS}, result: read[at] })
        return kept.get(text).result
      })`,
      },
    ],
  },
  {
    name: 'a node acknowledges a change before its commit',
    edits: [
      {
        file: `${STORE}/postgres/sql-writes.ts`,
        find: 'await transaction.commit()\n    for',
        replace: `void pause(${COMMITS_LATER_MS}).then(() => transaction.commit()).catch(() => undefined)
    for`,
      },
    ],
  },
]

/** Returns the text of a file with its faults. Throws if one does not fit. */
export function planted(file: string, source: string, edits: readonly Edit[]): string {
  let text = source
  for (const edit of edits) {
    const reason = misfit(edit, text)
    if (reason !== undefined) throw new Error(`${file}: ${reason}: ${edit.find}`)
    text = text.replace(edit.find, () => edit.replace)
  }
  return text
}
