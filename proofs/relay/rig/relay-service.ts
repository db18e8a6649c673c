import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CreatedSession, FullSession, Timeline, Workflow } from '@bonded/contract'
import { hostedScript, phonePage } from '@bonded/cli/node/serve'
import { openService } from '@bonded/cli/program/open'
import { SandboxClock } from '@bonded/sandbox'
import { createTenant } from '@bonded/core/operations/admin/tenants'
import type { Service } from '@bonded/core/operations/service'
import { startService } from '@bonded/server/compose'
import { readConfig } from '@bonded/server/settings/config'
import pino from 'pino'
import type { Front } from './front.ts'

/** A workflow that a phone's approval bonds, and the same one with the proof of the browser. */
export const WORKFLOWS = { without: 'transfer', with: 'transfer_confirmed' } as const
export const ACTION = 'send_money'
/** Long enough for the evidence of an approval to expire before its session. */
const SESSION_TTL_SECONDS = 900

/** What services serve to browsers, the same for all. */
export interface ServedFiles {
  readonly script: ReturnType<typeof hostedScript>
  readonly phonePage: Awaited<ReturnType<typeof phonePage>>
}

/** Builds the files before the first page needs them, whose time is limited. */
export async function loadFiles(): Promise<ServedFiles> {
  const script = hostedScript()
  await script.load()
  return { script, phonePage: await phonePage() }
}

/** How a service of a run is configured. */
export interface ServiceKind {
  readonly host: string
  /** Default: the host. */
  readonly rpId?: string
  /** Whether pages prove themselves; otherwise the service's frame does. */
  readonly relatedOrigins: boolean
  /** The hosts of its tenants. The first one is the bank. */
  readonly tenants: readonly string[]
}

/** A tenant of the service, as its backend and its page know it. */
export interface RelayTenant {
  readonly id: string
  readonly origin: string
  readonly publishableKey: string
  readonly serverCredential: string
}

/** A response, read. */
export interface Reply {
  readonly status: number
  readonly body: unknown
  /** The reason of a rejection. */
  readonly reason: string | undefined
}

/** A request that anyone can send. A program chooses every header. */
export interface Call {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  readonly token?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: object
}

/** A throw-away service on a database of its own, behind the front. */
export interface RelayService extends AsyncDisposable {
  readonly kind: ServiceKind
  readonly origin: string
  /** Where programs reach it without the front. */
  readonly address: string
  readonly apiBase: string
  readonly rpId: string
  readonly clock: SandboxClock
  /** The commands of an operator. */
  readonly operator: Service
  readonly bank: RelayTenant
  readonly others: readonly RelayTenant[]
  call(call: Call): Promise<Reply>
  /** A session as its backend reads it. */
  read(session: Pick<CreatedSession, 'id'>): Promise<FullSession>
  /** The step of the newest rejection in the session's timeline. */
  lastStep(session: Pick<CreatedSession, 'id'>): Promise<string>
}

/** Starts a service, its tenants and their workflows. */
// oxlint-disable-next-line max-lines-per-function -- it fills one object
export async function startRelayService(
  { front, files }: { readonly front: Front; readonly files: ServedFiles },
  kind: ServiceKind,
): Promise<RelayService> {
  const folder = mkdtempSync(join(tmpdir(), 'bonded-prove-relay-'))
  const origin = `https://${kind.host}`
  const { rpId = kind.host } = kind
  const clock = new SandboxClock()
  const config = readConfig({
    BONDED_PUBLIC_ORIGIN: origin,
    BONDED_RP_ID: rpId,
    BONDED_RELATED_ORIGINS: kind.relatedOrigins ? 'on' : 'off',
    BONDED_QR_CONTENT: 'universal_link',
    BONDED_DATA_DIR: folder,
    // Each scenario is the only caller, and some repeat what a limit would stop.
    BONDED_RATE_LIMITS: 'off',
  })
  const operator = await openService(config, { clock })
  const running = await startService(operator, {
    host: '127.0.0.1',
    port: 0,
    log: pino({ level: 'silent' }),
    script: files.script,
    phonePage: () => Promise.resolve(files.phonePage),
  })
  front.lead(kind.host, running.port)
  const tenants: RelayTenant[] = []
  for (const host of kind.tenants) tenants.push(await newTenant(operator, host))
  const [bank, ...others] = tenants
  if (bank === undefined) throw new Error('a service without a tenant')
  const address = `http://127.0.0.1:${running.port}`
  const apiBase = `${address}/api/v1`

  const call = async ({ method, path, token, headers, body }: Call): Promise<Reply> => {
    const response = await fetch(apiBase + path, {
      method,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    const read = (text === '' ? {} : JSON.parse(text)) as { error?: { reason?: string } }
    return { status: response.status, body: read, reason: read.error?.reason }
  }
  const asBackend = async (path: string) =>
    (await call({ method: 'GET', path, token: bank.serverCredential })).body
  return {
    kind,
    origin,
    address,
    apiBase,
    rpId,
    clock,
    operator,
    bank,
    others,
    call,
    read: async ({ id }) => (await asBackend(`/sessions/${id}`)) as FullSession,
    async lastStep({ id }) {
      const { entries } = (await asBackend(`/sessions/${id}/timeline`)) as Timeline
      const refused = entries.findLast(({ kind }) => kind === 'refused')
      return refused?.step ?? refused?.reason ?? 'none'
    },
    async [Symbol.asyncDispose]() {
      await running[Symbol.asyncDispose]()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function newTenant(service: Service, host: string): Promise<RelayTenant> {
  const workflow: Workflow = {
    name: WORKFLOWS.without,
    actions: [ACTION],
    unattested: 'accept',
    session_ttl_seconds: SESSION_TTL_SECONDS,
  }
  const origin = `https://${host}`
  const created = await createTenant(service, {
    name: `Tenant at ${host}`,
    environment: 'sandbox',
    origins: [origin],
    workflows: [workflow, { ...workflow, name: WORKFLOWS.with, require: ['browser'] }],
    demo: false,
    allowSimilarName: true,
  })
  return {
    id: created.tenant.id,
    origin,
    publishableKey: created.publishableKey,
    serverCredential: created.serverCredential.reveal(),
  }
}
