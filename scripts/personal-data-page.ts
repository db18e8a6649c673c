import { type ColumnKind, PERSONAL_DATA } from '../packages/store/src/personal-data.ts'

const KINDS: { readonly [Kind in ColumnKind]: readonly [personal: string, atErasure: string] } = {
  personal: ['yes', 'deleted'],
  emptied: ['yes', 'deleted; anonymized while running'],
  secret: ['yes', 'deleted; not exported'],
  plain: ['no', 'deleted with its row'],
  kept: ['no', 'kept'],
}

/** The page of what each column has of a user. */
export function personalDataPage(): string {
  const tables = Object.entries(PERSONAL_DATA).toSorted(([one], [other]) => (one < other ? -1 : 1))
  const sections = tables.map(([table, { until, columns }]) => {
    const rows = columns.flatMap(([names, kind, why]) =>
      names.split(' ').map((name) => `| \`${name}\` | ${KINDS[kind].join(' | ')} | ${why} |`),
    )
    return `## ${table}

Stored until ${until}.

| column | personal | at an erasure | purpose |
|---|---|---|---|
${rows.join('\n')}
`
  })
  return `# Personal data

Every column of every table, in SQLite and in PostgreSQL. A test compares this page with the schema of both. A column is personal if its value describes or identifies a user, their phone, or their browser. The other columns of a user's row are deleted with it. A session that runs at an erasure is killed: its personal columns are emptied in the same statement, so that its page and its phone are still notified of the end, and its row is deleted at the end of its retention.

${sections.join('\n')}`
}
