import { DatabaseSync, type StatementSync } from 'node:sqlite'

/**
 * Makes a service acknowledge and never commit. `--import` loads it into the nodes of a durability
 * proof, which must detect it. A node reads its own uncommitted changes, so only a crash shows that
 * they are not durable.
 */
if (process.argv.includes('serve')) {
  // oxlint-disable-next-line typescript/unbound-method -- called with the connection below
  const { prepare } = DatabaseSync.prototype
  const skip = { changes: 0, lastInsertRowid: 0 }
  DatabaseSync.prototype.prepare = function (this: DatabaseSync, text: string): StatementSync {
    const statement = prepare.call(this, text)
    const run = statement.run.bind(statement)
    if (text === 'begin immediate') statement.run = () => (this.isTransaction ? skip : run())
    if (text === 'commit') statement.run = () => skip
    return statement
  }
}
