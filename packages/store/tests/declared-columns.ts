import assert from 'node:assert/strict'
import { PERSONAL_DATA } from '../src/personal-data.ts'

const HOW_TO_DECLARE = `
Each column of the schema needs its row in PERSONAL_DATA (packages/store/src/personal-data.ts).
Add its name to a group of its table, or add a group: ['names', kind, 'purpose'], where kind is
'personal' (of a user, their phone or browser), 'secret' (the same, and not exported), 'emptied'
(in session only), 'plain' (goes with the row of a user), or 'kept' (of no user).
A new table also needs "until". Then run: npm run generate`

/** Fails with the names of stored columns that are not declared, and with what to do. */
export function rejectUndeclared(stored: readonly string[]): void {
  const missing = stored.filter((name) => !declaredColumns().includes(name))
  assert.ok(missing.length === 0, `Not declared: ${missing.join(', ')}. ${HOW_TO_DECLARE}`)
}

/** Every declared column as `table.column`. */
export function declaredColumns(): readonly string[] {
  return Object.entries(PERSONAL_DATA).flatMap(([table, { columns }]) =>
    columns.flatMap(([names]) => names.split(' ').map((name) => `${table}.${name}`)),
  )
}
