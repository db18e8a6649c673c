import { createRequire } from 'node:module'
import { PUBLISHABLE_KEY, parseId, type TenantId, WrittenWorkflow } from '@bonded/contract'
import { checkSessionEndpoint } from '@bonded/core/operations/admin/check-origin'
import type { WantedTenant } from '@bonded/core/operations/admin/apply-tenant'
import { OperatorError } from '@bonded/core/operations/admin/operator-error'
import { presetProblems, writeOut } from '@bonded/core/operations/admin/presets'
import { nameProblems, tenantProblems } from '@bonded/core/operations/admin/tenants'
import { parseLimits, ratesOf, TENANT_LIMITS } from '@bonded/core/domain/limits'
import {
  type RetentionBounds,
  retentionProblem,
  type SomeRetention,
} from '@bonded/core/domain/retention'
import type { Tenant } from '@bonded/core/domain/tenant'
import type { KeyListing } from '@bonded/core/ports/tables/tenant-table'
import { type Document, isMap, isNode, LineCounter, parseDocument, visit } from 'yaml'
import { addressesOf, integrationOf } from './describe-tenant.ts'
import { KEY_NAME } from './key.ts'

type Path = readonly (string | number)[]

/** Something that is wrong with a document, and the line that it is on. */
export interface DocumentProblem {
  readonly line: number
  readonly path: string
  readonly message: string
}

/** A tenant as it is written: the fields of the API description, and what only this service has. */
interface WrittenTenant {
  readonly tenantId?: TenantId
  readonly name: string
  readonly environment: Tenant['environment']
  readonly demo?: boolean
  readonly workerBaseUrl?: string
  readonly scriptUrl?: string
  readonly sessionEndpoint?: string | null
  readonly publishableKey?: string
  readonly serverCredential?: string
  readonly allowedOrigins?: readonly string[]
  readonly workflows: readonly WrittenWorkflow[]
  readonly limits?: Readonly<Record<string, string | number>>
  readonly retention?: SomeRetention
  readonly suspended?: boolean
}

const TEXT = { type: 'string' }
const WRITTEN = {
  type: 'object',
  additionalProperties: false,
  required: ['name', 'environment', 'workflows'],
  properties: {
    tenantId: TEXT,
    name: TEXT,
    environment: { enum: ['sandbox', 'production'] },
    demo: { type: 'boolean' },
    workerBaseUrl: TEXT,
    scriptUrl: TEXT,
    sessionEndpoint: { type: ['string', 'null'] },
    publishableKey: { type: 'string', pattern: PUBLISHABLE_KEY.source },
    serverCredential: TEXT,
    allowedOrigins: { type: 'array', items: TEXT, uniqueItems: true },
    workflows: { type: 'array', items: WrittenWorkflow },
    limits: { type: 'object', additionalProperties: { type: ['string', 'integer'] } },
    retention: { type: 'object', additionalProperties: { type: 'number' } },
    suspended: { type: 'boolean' },
  },
}
const DOCUMENT = {
  type: 'object',
  additionalProperties: false,
  required: ['tenants'],
  properties: { tenants: { type: 'array', items: WRITTEN } },
}

/** Loaded when a document is read, because it takes a tenth of a second. */
function schemaErrors(value: unknown) {
  const require = createRequire(import.meta.url)
  const { Compile } = require('typebox/compile') as typeof import('typebox/compile')
  const { Settings } = require('typebox/system') as typeof import('typebox/system')
  // By default it names the first eight.
  Settings.Set({ maxErrors: 1_000 })
  return Compile(DOCUMENT as never).Errors(value)
}

/** What the addresses in a document must be. */
export interface Addresses {
  readonly publicOrigin: string
  readonly retentionBounds?: RetentionBounds
}

/**
 * Reads a document of tenants.
 *
 * @returns the tenants, or everything that is wrong with them
 */
export function readTenants(
  text: string,
  service: Addresses,
): { readonly tenants: readonly WantedTenant[]; readonly problems: readonly DocumentProblem[] } {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const lineOf = (path: Path) => lineIn(document, lines, path)
  const problems: DocumentProblem[] = document.errors.map(({ pos, message }) => ({
    line: lines.linePos(pos[0]).line,
    path: '',
    message,
  }))
  // An alias hides what a reader of the line expects, and can make a small file a large one.
  visit(document, {
    Alias: (_key, { range }) => {
      problems.push({ line: lines.linePos(range?.[0] ?? 0).line, path: '', message: 'is an alias' })
    },
  })
  if (problems.length > 0) return { tenants: [], problems }
  const value: unknown = document.toJS()
  const invalid = (path: Path, message: string) =>
    problems.push({ line: lineOf(path), path: path.join('.'), message })
  // The member itself is reported too.
  for (const { keyword, instancePath, message } of schemaErrors(value))
    if (keyword !== 'additionalProperties')
      invalid(pathOf(instancePath), keyword === 'boolean' ? 'is no member' : message)
  const list = (value as { tenants?: unknown } | null)?.tenants
  const written = (Array.isArray(list) ? list : []) as readonly WrittenTenant[]
  const faulty = problems.map(({ path }) => `${path}.`)
  written.forEach((tenant, index) => {
    if (typeof tenant !== 'object' || tenant === null) return
    // What the schema rejects cannot be checked further. The rest is, so that all is named.
    const isFaulty = (member: string) =>
      faulty.some((path) => path.startsWith(`tenants.${index}.${member}.`))
    const valid = Object.entries(tenant).filter(([member]) => !isFaulty(member))
    const given = { ...PLACEHOLDERS, ...(Object.fromEntries(valid) as Partial<WrittenTenant>) }
    for (const { path, message } of valueProblems(given, service))
      if (!isFaulty(String(path[0]))) invalid(['tenants', index, ...path], message)
    const first = written.findIndex((other) => other?.name === tenant.name)
    if (tenant.name !== undefined && first !== index)
      invalid(['tenants', index, 'name'], 'is the name of another tenant of the document')
  })
  problems.sort((one, other) => one.line - other.line)
  return { tenants: problems.length > 0 ? [] : written.map(wantedOf), problems }
}

/** For required members that are missing or wrong: they break no other rule. */
const PLACEHOLDERS: WrittenTenant = {
  name: 'A',
  environment: 'sandbox',
  workflows: [{ name: 'a', actions: ['a'] }],
}

function* valueProblems(
  tenant: WrittenTenant,
  { publicOrigin, retentionBounds }: Addresses,
): Generator<{ readonly path: Path; readonly message: string }> {
  const { name, environment, demo = false, allowedOrigins: origins = [] } = tenant
  const workflows = tenant.workflows.map(writeOut)
  if (tenant.tenantId !== undefined && parseId('ten', tenant.tenantId) === undefined)
    yield { path: ['tenantId'], message: 'is not ten_ followed by 22 letters and digits' }
  yield* nameProblems(name)
  for (const { path, message } of tenantProblems({ environment, demo, origins, workflows }))
    yield { path: path[0] === 'origins' ? ['allowedOrigins', ...path.slice(1)] : path, message }
  for (const [index, workflow] of tenant.workflows.entries())
    for (const message of presetProblems(workflow)) yield { path: ['workflows', index], message }
  const addresses = addressesOf(publicOrigin)
  for (const member of ['workerBaseUrl', 'scriptUrl'] as const)
    if (tenant[member] !== undefined && tenant[member] !== addresses[member])
      yield { path: [member], message: `is ${addresses[member]} at this service` }
  const { sessionEndpoint, serverCredential } = tenant
  if (typeof sessionEndpoint === 'string')
    try {
      checkSessionEndpoint(sessionEndpoint, { environment, demo }, { publicOrigin })
    } catch (failure) {
      if (!(failure instanceof OperatorError)) throw failure
      yield { path: ['sessionEndpoint'], message: failure.message }
    }
  if (serverCredential !== undefined && !KEY_NAME.test(serverCredential.replace(/…$/, '')))
    yield { path: ['serverCredential'], message: 'is not the name of a key' }
  for (const [limit, rate] of Object.entries(tenant.limits ?? {}))
    if (!TENANT_LIMITS.some((known) => known === limit))
      yield { path: ['limits', limit], message: `is none of ${TENANT_LIMITS.join(', ')}` }
    else if (parseLimits(`${limit}=${rate}`) === undefined)
      yield { path: ['limits', limit], message: 'is not a quota a minute, such as 60 or 60/20' }
  for (const [kind, days] of Object.entries(tenant.retention ?? {})) {
    const message = retentionProblem(kind, days, retentionBounds)
    if (message !== undefined) yield { path: ['retention', kind], message }
  }
}

function wantedOf(tenant: WrittenTenant): WantedTenant {
  const { tenantId: id, allowedOrigins: origins, limits, ...same } = tenant
  const rates = Object.entries(limits ?? {}).map(([limit, rate]) => `${limit}=${rate}`)
  return {
    ...same,
    id,
    origins,
    workflows: tenant.workflows.map(writeOut),
    allowSimilarName: false,
    limits: limits && (rates.length === 0 ? {} : parseLimits(rates.join(','))),
  }
}

/** A tenant as `readTenants` reads it. */
export function writeTenant(
  tenant: Tenant,
  given: { keys: readonly KeyListing[]; publicOrigin: string; now: number },
): WrittenTenant {
  const { demo, workflows, limits = {}, retention = {}, suspendedAt } = tenant
  const { publishableKey, serverCredential, ...integration } = integrationOf(tenant, given)
  return {
    ...integration,
    demo,
    ...(publishableKey !== null && { publishableKey }),
    ...(serverCredential !== null && { serverCredential }),
    workflows: workflows.map((each) => ({ ...each, passport: each.passport ?? 'none' })),
    limits: ratesOf(limits),
    retention,
    suspended: suspendedAt !== undefined,
  }
}

/** A JSON pointer as a path. */
function pathOf(pointer: string): Path {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((part) => (/^\d+$/.test(part) ? Number(part) : part))
}

/** The line of a member: that of its name, or of what should have it. */
function lineIn(document: Document, lines: LineCounter, path: Path): number {
  const parent = path.length > 0 ? document.getIn(path.slice(0, -1), true) : undefined
  const last = path.at(-1)
  const pair = isMap(parent)
    ? parent.items.find(({ key }) => String(isNode(key) ? key.toJSON() : key) === String(last))
    : undefined
  const node = isNode(pair?.key) ? pair.key : document.getIn(path, true)
  if (isNode(node) && node.range) return lines.linePos(node.range[0]).line
  return path.length === 0 ? 1 : lineIn(document, lines, path.slice(0, -1))
}
