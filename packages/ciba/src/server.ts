import { closeSync, openSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { DatabaseSync } from 'node:sqlite'
import { SettingsFileError } from '@bonded/cli/program/settings-file-error'
import { Secret } from '@bonded/contract'
import { sqliteApprovalStore } from '@bonded/integrator/approval'
import { guardConnections } from '@bonded/server/http/connection/connection-guard'
import { answersProbe, listeningHost, targetOf } from '@bonded/server/http-target'
import type { Logger } from 'pino'
import type { errors, KoaContextWithOIDC, Provider } from 'oidc-provider'
import { checkedSend, fetchBy } from './checked-send.ts'
import type { CibaConfig } from './config.ts'
import { KeycloakChannel, type KeycloakOptions } from './keycloak.ts'
import { Notices } from './notices.ts'
import { notifierOf } from './ping.ts'
import { cibaProvider } from './provider.ts'
import { Requests } from './requests.ts'
import { ServiceClient } from './service-client.ts'
import { signingKeys } from './signing-keys.ts'
import { type Notice, SqliteRows } from './sqlite-rows.ts'

/** The library has more routes, which need no client and have no use here. */
const ROUTES = [
  'GET /.well-known/openid-configuration',
  'GET /jwks',
  'POST /backchannel',
  'POST /token',
]
const SWEEP_MS = 10_000
/** Each can have a body of 56 KiB that arrives slowly, so together they take 56 MiB. */
const MAX_CONNECTIONS = 1_024
const HEADERS_TIMEOUT_MS = 10_000
const REQUEST_TIMEOUT_MS = 30_000
/** How often Node checks for slow requests. Its default of 30 s exceeds the limit of headers. */
const SLOW_REQUEST_CHECK_MS = 1_000

export interface RunningCiba extends AsyncDisposable {
  readonly port: number
  readonly requests: Requests
  readonly notices: Notices
  readonly keycloak: KeycloakChannel | undefined
}

/**
 * Serves clients until it is disposed.
 *
 * @throws {SettingsFileError | GateError} if the configuration is wrong
 */
export async function serveCiba(
  config: CibaConfig,
  { credential, log }: { readonly credential: string; readonly log: Logger },
): Promise<RunningCiba> {
  const now = () => Math.floor(Date.now() / 1_000)
  const jwks = signingKeys(config.signing_keys)
  const db = openDatabase(config.database)
  const rows = new SqliteRows(db, now)
  const store = sqliteApprovalStore(db)
  const noticed = () => notices.watch()
  const requests = new Requests({ config, credential, store, rows, log, noticed, now })
  const stop = new AbortController()
  const fetch = fetchBy(checkedSend(config.private_hosts, stop.signal))
  const provider = cibaProvider({ config, jwks, rows, requests, fetch })
  const service = new ServiceClient(config.service, new Secret(credential))
  const keycloak = keycloakOf(config, { credential, store, rows, log, noticed, now })
  const ping = notifierOf(provider, log)
  // Without a realm, its notices are dropped: the operator has removed it.
  const deliver = async (notice: Notice): Promise<boolean> =>
    notice.content['bearer'] === undefined ? ping(notice) : (keycloak?.deliver(notice) ?? true)
  const notices = new Notices({ rows, service, deliver, log, stop: stop.signal })
  await rejectClients(provider, config)
  logErrors(provider, log)
  const server = createServer(
    { connectionsCheckingInterval: SLOW_REQUEST_CHECK_MS },
    handlerOf(provider, config.issuer, keycloak),
  )
  const guard = guardConnections(server)
  server.maxConnections = MAX_CONNECTIONS
  server.headersTimeout = HEADERS_TIMEOUT_MS
  server.requestTimeout = REQUEST_TIMEOUT_MS
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(config.port, listeningHost(config.host), resolve)
  })
  let sweeping = Promise.resolve()
  const sweep = () => {
    notices.watch()
    sweeping = sweeping
      .then(() => requests.sweep())
      .then(() => keycloak?.sweep())
      .catch((err: unknown) => log.warn({ err }, 'expired requests are ended later'))
  }
  sweep()
  const timer = setInterval(sweep, SWEEP_MS)
  return {
    port: (server.address() as AddressInfo).port,
    requests,
    notices,
    keycloak,
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      stop.abort()
      await guard.end()
      await sweeping
      await notices[Symbol.asyncDispose]()
      db.close()
    },
  }
}

function keycloakOf(
  { keycloak: realm, service, private_hosts }: CibaConfig,
  given: Omit<KeycloakOptions, 'realm' | 'service' | 'send'>,
): KeycloakChannel | undefined {
  if (realm === undefined) return undefined
  // A callback that was sent is not aborted, because its outcome would be unknown.
  const send = checkedSend(private_hosts, new AbortController().signal)
  return new KeycloakChannel({ ...given, realm, service, send })
}

/** Requests have secrets of sessions, so only the account of the process reads them. */
function openDatabase(file: string): DatabaseSync {
  closeSync(openSync(file, 'a', 0o600))
  const db = new DatabaseSync(file)
  // What is deleted is overwritten: a notice contains a secret.
  db.exec(`pragma busy_timeout = 5000; pragma journal_mode = wal; pragma synchronous = full;
    pragma secure_delete = on`)
  return db
}

/** The library checks a client when it first comes. */
async function rejectClients(provider: Provider, { clients }: CibaConfig): Promise<void> {
  const problems: string[] = []
  for (const [index, { client_id }] of clients.entries())
    await provider.Client.find(client_id).catch((error: { error_description?: string }) =>
      problems.push(`/clients/${index}: ${error.error_description ?? String(error)}`),
    )
  if (problems.length > 0)
    throw new SettingsFileError(`The configuration is invalid:\n${problems.join('\n')}`)
}

function logErrors(provider: Provider, log: Logger): void {
  const rejected = ({ oidc: { client } }: KoaContextWithOIDC, err: errors.OIDCProviderError) =>
    log.info(
      {
        client: client?.clientId,
        error: err.error,
        detail: err.error_detail ?? err.error_description,
      },
      'rejected a client',
    )
  provider.on('server_error', (_ctx, err) => log.error({ err }, 'a request failed'))
  provider.on('backchannel_authentication.error', rejected)
  // Every poll before the answer is one.
  provider.on('grant.error', (ctx, err) => {
    if (err.error !== 'authorization_pending') rejected(ctx, err)
  })
}

/** The provider reads its own address from headers, which are therefore set to the issuer. */
function handlerOf(
  provider: Provider,
  issuer: string,
  keycloak: KeycloakChannel | undefined,
): RequestListener {
  const { host, protocol } = new URL(issuer)
  const handle = provider.callback()
  return (request, response) => {
    if (answersProbe(request, response)) return
    const { method, path } = targetOf(request)
    if (keycloak !== undefined && method === 'POST' && path === '/keycloak')
      return void keycloak.handle(request, response)
    if (!ROUTES.includes(`${method} ${path}`)) return void response.writeHead(404).end()
    // No page of a browser is a client.
    delete request.headers.origin
    Object.assign(request.headers, {
      host,
      'x-forwarded-host': host,
      'x-forwarded-proto': protocol.slice(0, -1),
    })
    void handle(request, response)
  }
}
