import { misfit } from '../mutants/mutant.ts'

/** A fault in a copy of a source file. `find` occurs in the file exactly once. */
export interface Edit {
  /** From the root of the repository. */
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
      {
        file: `${STORE}/postgres/row-cache/row-queries.ts`,
        find: 'where r.version is distinct from k.version`',
        replace: 'where false`',
      },
    ],
  },
  {
    name: 'a node reads a session from its cache',
    edits: [
      {
        file: `${STORE}/postgres/row-cache/optimistic-units.ts`,
        find: "if (end.is === 'finished' && run.isOf(foundRows)) return { value: end.value }\n      foundRows",
        replace: "if (end.is === 'finished') return { value: end.value }\n      foundRows",
      },
    ],
  },
  {
    name: 'a node acknowledges a change before its commit',
    edits: [
      {
        file: `${STORE}/postgres/sql-writes.ts`,
        find: 'await commit(connection)\n    for',
        replace: `void pause(${COMMITS_LATER_MS}).then(() => commit(connection)).catch(() => undefined)
    for`,
      },
      {
        file: `${STORE}/postgres/row-cache/optimistic-writes.ts`,
        find: `const rows = await connection.runBatch(batchOf(group, server))
      this.#committed(group, { rows, server })`,
        replace: `this.#committed(group, { rows: [], server: '' })
      await new Promise((resolve) => setTimeout(resolve, ${COMMITS_LATER_MS}))
      await connection.runBatch(batchOf(group, server))`,
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
