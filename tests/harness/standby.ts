import { type PostgresServer, startPostgres } from '../../packages/store/tests/servers/postgres.ts'

/** A primary whose commits wait for its standby, so that a failover loses nothing acknowledged. */
export interface ReplicatedPostgres extends AsyncDisposable {
  readonly primary: PostgresServer
  readonly standby: PostgresServer
  /** Creates an empty database. Returns its URL, which lists both servers. */
  newDatabase(): Promise<string>
  /** The URL of a database on one of the servers. */
  urlOn(server: PostgresServer, databaseUrl: string): string
}

/** Starts both servers. */
export async function startReplicated(): Promise<ReplicatedPostgres> {
  await using parts = new AsyncDisposableStack()
  const primary = parts.use(await startPostgres())
  const standby = parts.use(await startPostgres({}, { standbyOf: primary }))
  await primary.run(`alter system set synchronous_standby_names = '*'`)
  await primary.run('select pg_reload_conf()')
  const owned = parts.move()
  const [first, second] = [primary, standby].map(({ port }) => `127.0.0.1:${port}`)
  return {
    primary,
    standby,
    newDatabase: async () =>
      (await primary.newDatabase()).replace(`${first}`, `${first},${second}`),
    urlOn: ({ port }, url) => url.replace(`${first},${second}`, `127.0.0.1:${port}`),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
