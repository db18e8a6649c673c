import { readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Application, type Bank, type BankOptions, openBank } from './bank.ts'
import { readForm } from './http/body.ts'
import { contentSecurityPolicy, html, type Reply, reject, send } from './http/reply.ts'
import { messagePage } from './pages/message-page.ts'
import { submitApplication } from './routes/applications.ts'
import { bondSession } from './routes/bond-session.ts'
import { saveDraft } from './routes/drafts.ts'
import { reportUnexpected } from './routes/reports.ts'
import { home } from './routes/home.ts'

export type { Application } from './bank.ts'
export type { BankDemo, DemoScenario } from './demo.ts'

export interface StartBankOptions extends BankOptions {
  /** 0 selects a free port. */
  readonly port: number
  /** Default 127.0.0.1. The bank responds to this name and to those of this machine. */
  readonly host?: string
}

export interface RunningBank {
  readonly url: string
  close(): Promise<void>
  /** The applications that the bank accepted or is reviewing, oldest first. */
  applications(): readonly Application[]
}

/**
 * Starts the example bank.
 *
 * @example
 * const bank = await startBank({ port: 8788, serviceOrigin: 'http://localhost:8787',
 * serverCredential, publishableKey }) console.log(`open ${bank.url}`)
 */
export async function startBank(options: StartBankOptions): Promise<RunningBank> {
  const { port, host = '127.0.0.1' } = options
  const bank = openBank({ ...options, serviceOrigin: new URL(options.serviceOrigin).origin })
  const files = await readFiles()
  const securityPolicy = contentSecurityPolicy(bank.serviceOrigin, bank.demo)
  const names = [...LOCAL_NAMES, host]
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const responding = isForUs(request, names)
      ? respond(bank, files, request)
      : Promise.resolve(reject(421, 'host_not_served', 'Open the address that the bank printed.'))
    const reply = await responding.catch((error: unknown) => {
      // A browser that disconnected is not an error of the bank.
      if (!request.destroyed) bank.log({ event: 'failed', path: request.url, error: String(error) })
      return reject(500, 'failed', 'Something failed on our side. Try again in a minute.')
    })
    // Reads the rest of a rejected body, so that its sender can read why. `requestTimeout`
    // bounds it.
    if (!request.complete) response.setHeader('connection', 'close')
    send(response, reply, securityPolicy)
    request.resume()
  }
  const server = createServer(
    { requestTimeout: 10_000, connectionsCheckingInterval: 1_000 },
    (request, response) => void serve(request, response),
  )
  await new Promise<void>((resolve, reject) =>
    server.once('error', reject).listen(port, host, resolve),
  )
  const { port: actualPort } = server.address() as AddressInfo
  return {
    // The tenant's origins name `localhost`, which is also what browsers open.
    url: `http://${host === '127.0.0.1' ? 'localhost' : host}:${actualPort}`,
    applications: () => bank.applications,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** The names of this machine, which need no certificate. */
const LOCAL_NAMES = ['localhost', '127.0.0.1', '[::1]']

/**
 * Whether a request names the bank. A page of another site that rebinds its own name to this
 * machine would have the bank's origin, but it still sends its own name.
 */
function isForUs({ headers }: IncomingMessage, names: readonly string[]): boolean {
  const [, name = ''] = /^([^:@]+|\[[\da-f:]+\])(?::\d{1,5})?$/i.exec(headers.host ?? '') ?? []
  return names.includes(name.toLowerCase())
}

/** What pages send. Everything else is read only. */
const FORM_PATHS = ['/drafts', '/bond-session', '/applications', '/reports']

async function respond(
  bank: Bank,
  files: ReadonlyMap<string, Reply>,
  request: IncomingMessage,
): Promise<Reply> {
  const { method = '', url = '/' } = request
  const [path = '/', query = ''] = url.split('?')
  const isForm = FORM_PATHS.includes(path)
  const file = files.get(path)
  if (!isForm && !file && path !== '/') return reject(404, 'not_found', 'This page does not exist.')
  const allowed = isForm ? ['POST'] : ['GET', 'HEAD']
  if (!allowed.includes(method)) {
    const rejection = reject(405, 'method_not_allowed', `Use ${allowed[0]} here.`)
    return { ...rejection, headers: { ...rejection.headers, allow: allowed.join(', ') } }
  }
  const login = bank.logins.find(request.headers.cookie)
  if (!isForm) return file ?? home(bank, login, new URLSearchParams(query).get('scenario'))
  return isCrossSite(request)
    ? reject(403, 'cross_site', 'Send this form from the bank’s own page.')
    : takeForm({ bank, login, path, request })
}

async function takeForm(facts: {
  bank: Bank
  login: ReturnType<Bank['logins']['find']>
  path: string
  request: IncomingMessage
}): Promise<Reply> {
  const { bank, login, path, request } = facts
  const form = await readForm(request)
  if ('status' in form) return form
  // A browser that refuses cookies can see the page, but the bank cannot tell its requests from
  // another browser's.
  if (login === undefined)
    return pageIfWanted(
      reject(401, 'login_missing', 'Open the form again in this browser, with cookies allowed.'),
      form.wantsPage,
    )
  if (path === '/drafts') return saveDraft(login, form)
  if (path === '/bond-session')
    return bondSession({
      bank,
      login,
      form,
      address: request.socket.remoteAddress?.replace(/^::ffff:/, ''),
    })
  if (path === '/reports') return reportUnexpected(bank, login)
  return pageIfWanted(await submitApplication(bank, login, form), form.wantsPage)
}

/** Shows a rejection as a page to a browser without JavaScript. */
function pageIfWanted(reply: Reply, wantsPage: boolean): Reply {
  if (!wantsPage || reply.status < 400) return reply
  const { error } = JSON.parse(reply.body) as { error: { message: string } }
  return html(reply.status, messagePage(error.message))
}

/**
 * SameSite=Strict already withholds the login from other sites' forms. This check returns a clear
 * error and also covers sibling hosts.
 */
function isCrossSite({ headers }: IncomingMessage): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return true
  return (
    headers.origin !== undefined &&
    (!URL.canParse(headers.origin) || new URL(headers.origin).host !== headers.host)
  )
}

async function readFiles(): Promise<ReadonlyMap<string, Reply>> {
  const read = (name: string) => readFile(new URL(`../browser/${name}`, import.meta.url), 'utf8')
  const type = (name: string) => (name.endsWith('.js') ? 'text/javascript' : 'text/css')
  const files = ['page.js', 'page.css', 'demo.css'].map(async (name): Promise<[string, Reply]> => {
    const headers = { 'content-type': `${type(name)}; charset=utf-8` }
    return [`/${name}`, { status: 200, headers, body: await read(name) }]
  })
  return new Map(await Promise.all(files))
}
