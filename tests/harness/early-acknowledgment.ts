import { DatabaseSync, type StatementSync } from 'node:sqlite'

/**
 * Makes a service acknowledge before it commits. `--import` loads it into the nodes of a durability
 * proof, which must detect it. A node reads its own uncommitted changes, so only a crash shows that
 * they are not durable.
 */
const COMMIT_EVERY_MS = 200

if (process.argv.includes('serve')) {
  // oxlint-disable-next-line typescript/unbound-method -- called with the connection below
  const { prepare } = DatabaseSync.prototype
  let committedAt = performance.now()
  DatabaseSync.prototype.prepare = function (this: DatabaseSync, text: string): StatementSync {
    const statement = prepare.call(this, text)
    const run = statement.run.bind(statement)
    const skip = { changes: 0, lastInsertRowid: 0 }
    if (text === 'begin immediate') statement.run = () => (this.isTransaction ? skip : run())
    if (text === 'commit')
      statement.run = () => {
        if (performance.now() - committedAt < COMMIT_EVERY_MS) return skip
        committedAt = performance.now()
        return run()
      }
    return statement
  }
}
