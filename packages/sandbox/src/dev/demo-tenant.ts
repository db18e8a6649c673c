import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseId, PRESETS, type TenantId, type Workflow } from '@bonded/contract'
import { createTenant } from '@bonded/core/operations/admin/tenants'
import type { Service } from '@bonded/core/operations/service'

/** The action that the demo bank protects. */
export const DEMO_ACTION = 'submit_application'
/** The workflow of the demo bank. */
export const DEMO_WORKFLOW = 'credit_application'

/** The names of the demo's further workflows, and of the agent's actions. */
type WorkflowNames = Readonly<
  Record<
    `${'ONE_MINUTE' | 'BROWSER' | 'CARRIED' | 'ENROLLMENT' | 'AGENT' | 'TWO_PEOPLE'}_WORKFLOW`,
    string
  > &
    Record<`${'ENROLLMENT' | 'AGENT'}_ACTION`, string>
>

/** The tenant of the demo bank, with its credentials. */
export interface DemoTenant {
  readonly tenant_id: TenantId
  readonly publishable_key: string
  readonly server_credential: string
  readonly bank_origin: string
}

/** Returns the demo tenant. Its credentials are stored across starts, for their owner only. */
export async function demoTenant(
  service: Service,
  { dataDir, bankOrigin, names }: { dataDir: string; bankOrigin: string; names: WorkflowNames },
): Promise<DemoTenant> {
  const workflows = workflowsOf(names)
  const file = join(dataDir, 'demo.json')
  const stored = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as DemoTenant) : null
  if (stored?.bank_origin === bankOrigin && (await hasWorkflows(service, stored, workflows)))
    return stored
  const { tenant, publishableKey, serverCredential } = await createTenant(service, {
    name: 'Harbour Bank (demo)',
    environment: 'sandbox',
    origins: [bankOrigin],
    workflows,
    demo: true,
    // The demo of an earlier start, with another port of the bank, stays in the data folder.
    allowSimilarName: true,
  })
  const demo = {
    tenant_id: tenant.id,
    publishable_key: publishableKey,
    server_credential: serverCredential.reveal(),
    bank_origin: bankOrigin,
  }
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  // Renaming makes the write atomic, even on a full disk.
  writeFileSync(`${file}.draft`, `${JSON.stringify(demo, null, 2)}\n`, { mode: 0o600 })
  renameSync(`${file}.draft`, file)
  return demo
}

function workflowsOf(names: WorkflowNames): Workflow[] {
  const policy = {
    actions: [DEMO_ACTION],
    passport: 'optional',
    require: ['local_auth'],
    // The phone beside the bank has no maker that attests its key, as most passkeys have none. The
    // demo accepts it at its first visit, so that its scenarios differ in what they show.
    unattested: 'accept',
  } satisfies Omit<Workflow, 'name'>
  const agent = {
    actions: [names.AGENT_ACTION],
    title: { en: 'Payment by your agent' },
    ...PRESETS.agent,
    // A visitor does not wait until the key of a new phone is seasoned, which takes 7 days.
    webauthn: 'any',
  } satisfies Omit<Workflow, 'name'>
  return [
    { name: DEMO_WORKFLOW, ...policy },
    { name: names.ONE_MINUTE_WORKFLOW, ...policy, session_ttl_seconds: 60 },
    { name: names.BROWSER_WORKFLOW, ...policy, require: [...policy.require, 'browser'] },
    { name: names.CARRIED_WORKFLOW, ...policy, require: [...policy.require, 'sensor_continuity'] },
    {
      name: names.ENROLLMENT_WORKFLOW,
      ...policy,
      actions: [names.ENROLLMENT_ACTION],
      title: { en: 'Phone enrollment' },
    },
    { name: names.AGENT_WORKFLOW, ...agent },
    { name: names.TWO_PEOPLE_WORKFLOW, ...agent, quorum: { needed: 2 } },
  ]
}

/** A tenant of an earlier version has other workflows, and is replaced. */
async function hasWorkflows(
  service: Service,
  { tenant_id }: DemoTenant,
  workflows: readonly Workflow[],
): Promise<boolean> {
  const id = parseId('ten', tenant_id)
  const known = id && (await service.store.read((tables) => tables.tenants.find(id)))
  return known !== undefined && JSON.stringify(known.workflows) === JSON.stringify(workflows)
}
