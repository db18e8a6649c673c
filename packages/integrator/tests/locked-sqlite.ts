import { DatabaseSync } from 'node:sqlite'

/**
 * A connection to a database in which another process is always writing: a statement that reads or
 * writes fails at once, unless the connection waits.
 */
export function lockedWithoutWaiting(): DatabaseSync {
  const db = new DatabaseSync(':memory:')
  const rejectAtOnce = (sql: string) => {
    const { timeout } = db.prepare('pragma busy_timeout').get() as { timeout: number }
    if (timeout === 0 && !sql.includes('busy_timeout')) throw new Error('database is locked')
  }
  return new Proxy(db, {
    get(target, name) {
      if (name === 'prepare')
        return (sql: string) => {
          rejectAtOnce(sql)
          return target.prepare(sql)
        }
      if (name === 'exec')
        return (sql: string) => {
          rejectAtOnce(sql)
          target.exec(sql)
        }
      return Reflect.get(target, name) as unknown
    },
  })
}
