import type { PhoneSession, TenantId, Workflow } from '@bonded/contract'
import type { SomeLimits } from './limits.ts'
import type { SomeRetention } from './retention.ts'
import { accept, type Result, reject } from './rejection.ts'
import type { Instant, Session } from './session.ts'

/** An organization that uses the service. */
export interface Tenant {
  readonly id: TenantId
  readonly name: string
  readonly environment: 'sandbox' | 'production'
  /** A sandbox tenant that may use `localhost` origins. */
  readonly demo: boolean
  readonly origins: readonly string[]
  readonly workflows: readonly Workflow[]
  /** The address on the tenant's own backend that creates a session for its page. */
  readonly sessionEndpoint?: string | undefined
  /** Rate limits that replace the service defaults. */
  readonly limits?: SomeLimits
  /** Periods that replace those of the service, in days. */
  readonly retention?: SomeRetention | undefined
  /** The name of the logo's file. A new logo has a new name. */
  readonly logo?: string | undefined
  /** Since when the operator lets it ask for no approvals. */
  readonly suspendedAt?: Instant | undefined
  /** Whether it has a webhook endpoint, so that its sessions write events. */
  readonly notifies?: boolean | undefined
}

/** Whether a workflow of the tenant requires the browser. */
export function hasBrowserWorkflow({ workflows }: Pick<Tenant, 'workflows'>): boolean {
  return workflows.some(({ require }) => require?.includes('browser'))
}

/** The workflows and actions that a credential may use. Null: all of its tenant's. */
export type Scope =
  | readonly { readonly workflow: string; readonly actions: readonly string[] | null }[]
  | null

/**
 * Whether a key has stopped working. A key that is being rolled works until its revocation time.
 */
export function isRevoked(
  { revokedAt }: { readonly revokedAt: Instant | null },
  now: Instant,
): boolean {
  // Negated, so that NaN rejects the key.
  return revokedAt !== null && !(now < revokedAt)
}

/**
 * Whether the tenant allows pages of this origin. The match is exact: no wildcards, case folding or
 * default ports.
 */
export function allowsOrigin(tenant: Tenant, origin: string): boolean {
  return tenant.origins.includes(origin)
}

/**
 * The workflow and action of a create call: those it names, or the only ones that its credential
 * allows.
 */
export function chooseAction(
  tenant: Tenant,
  scope: Scope,
  wanted: { workflow?: string | undefined; action?: string | undefined },
): Result<{ workflow: Workflow; action: string }> {
  const enabled = tenant.workflows.filter((workflow) => inScope(scope, workflow.name))
  const name = wanted.workflow ?? (enabled.length === 1 ? enabled[0]?.name : undefined)
  if (name === undefined) return reject('workflow_required', { param: 'workflow' })
  const workflow = tenant.workflows.find((candidate) => candidate.name === name)
  if (workflow === undefined) return reject('workflow_unknown', { param: 'workflow' })
  if (!inScope(scope, name)) return reject('workflow_not_enabled', { param: 'workflow' })

  const actions = workflow.actions.filter((candidate) => inScope(scope, name, candidate))
  const action = wanted.action ?? (actions.length === 1 ? actions[0] : undefined)
  if (action === undefined) return reject('action_required', { param: 'action' })
  if (!workflow.actions.includes(action)) return reject('action_unknown', { param: 'action' })
  if (!inScope(scope, name, action)) return reject('action_not_enabled', { param: 'action' })
  return accept({ workflow, action })
}

/** Whether a credential's scope includes the workflow and, if given, the action. */
export function inScope(scope: Scope, workflow: string, action?: string): boolean {
  if (scope === null) return true
  const entry = scope.find((candidate) => candidate.workflow === workflow)
  if (entry === undefined) return false
  return action === undefined || entry.actions === null || entry.actions.includes(action)
}

/**
 * The titles of a session's workflow and action, as the tenant has them now. Null where it has none
 * or no longer has the workflow.
 */
export function titlesOf(
  tenant: Tenant,
  { workflow, action }: Pick<Session, 'workflow' | 'action'>,
): Pick<PhoneSession, 'workflow_title' | 'action_title'> {
  const { title, action_titles: titles = {} } =
    tenant.workflows.find(({ name }) => name === workflow) ?? {}
  return {
    workflow_title: title ?? null,
    action_title: Object.hasOwn(titles, action) ? (titles[action] ?? null) : null,
  }
}
