import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import {
  bindingDigest,
  createGate,
  type Gate,
  type MemoryTransaction,
  memoryPendingStore,
  type PublicCreatedSession,
} from '@bonded/integrator'
import type { Front } from './front.ts'
import { ACTION, type RelayService, type RelayTenant, WORKFLOWS } from './relay-service.ts'

/** Whether the workflow requires the proof of the browser. */
export type Mode = keyof typeof WORKFLOWS

/** What a gate said to a submit: `passed`, or its reason. */
export const PASSED = 'passed'

/** How a bank differs from a careful one. */
export interface BankOptions {
  readonly mode: Mode
  /** Its users, and the subject that each of them bonded before. */
  readonly accounts: Readonly<Record<string, string | null>>
  /**
   * What its page continues: the session that the URL names, or an open one of the account.
   * Default: neither.
   */
  readonly resumes?: 'url' | 'account'
  /**
   * `old`: it was written before the proof of the browser, and passes no secret. `half`: it passes
   * the secret, and its policy names no origin for the workflow.
   */
  readonly gate?: 'current' | 'old' | 'half'
  /** The page that its gate requires. Default: its own. */
  readonly gateOrigin?: string
  /** Whether the gate accepts sessions that name no user. Default: where an account has none. */
  readonly firstBond?: boolean
  readonly tenant?: RelayTenant
}

/** A bank's site and backend, with the widget and the gate that integrators use. */
export interface Bank extends AsyncDisposable {
  readonly origin: string
  readonly workflow: string
  readonly mode: Mode
  /** Where programs reach it without the front. */
  readonly address: string
  /** The sessions that it created, newest last. */
  readonly sessions: readonly PublicCreatedSession[]
}

const ORDER = { to: 'an account of the attacker', amount: '12,500.00 EUR' }
/** Not a secret of the bank: a scenario only needs different logins. */
const LOGIN_BYTES = 12

/** Starts the bank at the host of its tenant. */
export async function openBank(
  front: Front,
  service: RelayService,
  options: BankOptions,
): Promise<Bank> {
  const { tenant = service.bank, mode } = options
  const backend = await newBackend(service, tenant, options)
  const page = pageOf({ service, tenant, mode })
  const site = createServer((request, response) => {
    serve(backend, page, request)
      .then((reply) => send(response, reply))
      .catch((failure: unknown) => {
        const { code } = failure as { readonly code?: unknown }
        send(response, { status: 500, body: { reason: String(code ?? failure) } })
      })
  }).listen(0, '127.0.0.1')
  await once(site, 'listening')
  const { port } = site.address() as AddressInfo
  front.lead(new URL(tenant.origin).hostname, port)
  return {
    origin: tenant.origin,
    workflow: WORKFLOWS[mode],
    mode,
    address: `http://127.0.0.1:${port}`,
    sessions: backend.sessions,
    async [Symbol.asyncDispose]() {
      site.closeAllConnections()
      await new Promise((closed) => site.close(closed))
    },
  }
}

interface Backend {
  readonly sessions: PublicCreatedSession[]
  /** The accounts by login. */
  readonly logins: Map<string, string>
  /** The session for a page of the account. */
  bond(account: string, named: string | null): Promise<PublicCreatedSession>
  /** Executes the order of the account, where the gate passes it. */
  submit(account: string, form: Readonly<Record<string, unknown>>): Promise<string>
}

async function newBackend(
  { apiBase }: RelayService,
  tenant: RelayTenant,
  options: BankOptions,
): Promise<Backend> {
  const { accounts, mode, resumes, gate: kind, gateOrigin: origin = tenant.origin } = options
  const { firstBond = Object.values(accounts).includes(null) } = options
  const sessions: PublicCreatedSession[] = []
  const owners = new Map<string, string>()
  const gate: Gate<MemoryTransaction> = createGate({
    baseUrl: apiBase,
    serverCredential: tenant.serverCredential,
    store: memoryPendingStore(),
    policy:
      mode === 'with' && kind !== 'old' && kind !== 'half'
        ? { tenant_id: tenant.id, requireBrowser: { [WORKFLOWS.with]: { origin, firstBond } } }
        : { tenant_id: tenant.id },
  })
  const purpose = { workflow: WORKFLOWS[mode], action: ACTION }
  const digest = await bindingDigest(ORDER)
  return {
    sessions,
    logins: new Map(),
    async bond(account, named) {
      const open = sessions.find(({ id }) =>
        resumes === 'url' ? id === named : resumes === 'account' && owners.get(id) === account,
      )
      if (open !== undefined) return open
      const { session } = await gate.create({
        ...purpose,
        owner: account,
        subject_ref: accounts[account],
        context: { display: [{ label: 'Amount', value: ORDER.amount }], digest },
      })
      sessions.push(session)
      owners.set(session.id, account)
      return session
    },
    async submit(account, { session_id, browser_secret }) {
      const execute = async () => {}
      const ended = await gate.protect({
        ...purpose,
        owner: account,
        session_id: String(session_id),
        form_digest: digest,
        ...(kind === 'old' ? {} : { browser_secret: String(browser_secret) }),
        accept: execute,
        // A reviewer sees a bond of the right phone, and accepts it.
        review: execute,
      })
      return ended.outcome === 'rejected' ? String(ended.reasons[0]) : PASSED
    },
  }
}

interface SiteReply {
  readonly status: number
  readonly body: string | object
  readonly headers?: Readonly<Record<string, string>>
}

async function serve(backend: Backend, page: string, request: IncomingMessage): Promise<SiteReply> {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://bank')
  const login = /login=(\w+)/.exec(request.headers.cookie ?? '')?.[1] ?? ''
  const account = backend.logins.get(login) ?? ''
  switch (`${request.method} ${pathname}`) {
    case 'GET /login': {
      // As careless as many: a link of another site signs the browser in.
      const next = randomBytes(LOGIN_BYTES).toString('hex')
      backend.logins.set(next, searchParams.get('as') ?? '')
      const cookie = `login=${next}; Path=/; Secure; SameSite=None`
      return { status: 303, body: '', headers: { location: '/', 'set-cookie': cookie } }
    }
    case 'POST /bond-session':
      return { status: 200, body: await backend.bond(account, searchParams.get('session')) }
    case 'POST /submit': {
      const form = JSON.parse(await text(request)) as Record<string, unknown>
      return { status: 200, body: { reason: await backend.submit(account, form) } }
    }
    case 'GET /':
      return { status: 200, body: page }
    default:
      return { status: 404, body: '' }
  }
}

function send(response: ServerResponse, { status, body, headers }: SiteReply): void {
  const [type, content] =
    typeof body === 'string' ? ['text/html', body] : ['application/json', JSON.stringify(body)]
  response.writeHead(status, { 'content-type': type, ...headers }).end(content)
}

function pageOf({
  service,
  tenant,
  mode,
}: {
  readonly service: RelayService
  readonly tenant: RelayTenant
  readonly mode: Mode
}): string {
  const setup = {
    publishableKey: tenant.publishableKey,
    workflow: WORKFLOWS[mode],
    locale: 'en',
  }
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Bank</title>
<link rel="icon" href="data:,"><script src="${service.origin}/v1/pulse.js"></script>
<div data-pulse-widget style="display:block;min-height:440px;max-width:360px"></div><script>
Pulse.init({ ...${JSON.stringify(setup)}, sessionEndpoint: '/bond-session' + location.search })
globalThis.bond = () => {
  globalThis.outcome = null
  Pulse.requireBond({ action: '${ACTION}', context: {} }).then((given) => (globalThis.outcome = given))
}
globalThis.submit = (form) => fetch('/submit', { method: 'POST', body: JSON.stringify(form) })
  .then((response) => response.json()).then(({ reason }) => reason)
</script></html>`
}
