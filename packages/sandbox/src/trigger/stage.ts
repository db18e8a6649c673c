import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CreatedSession, FullSession, Workflow } from '@bonded/contract'
import { OperatorError } from '@bonded/core/operations/admin/operator-error'
import { listKeys } from '@bonded/core/operations/admin/keys'
import { authenticate } from '@bonded/core/operations/authenticate'
import type { Service } from '@bonded/core/operations/service'
import type { Tenant } from '@bonded/core/domain/tenant'
import type { Needs } from './answers.ts'
import { type Backend, createBackend } from '../backend.ts'
import {
  createAuthenticator,
  createSimulatedPhone,
  nodeFetch,
  type SimulatedPhone,
} from '@bonded/simulator'

/** Where an event is caused, and by whom. */
export interface StageOptions {
  /** The database of the running service: for what only its operator may do. */
  readonly service: Service
  /** The running service, which answers the calls of the backend, the page, and the phone. */
  readonly origin: string
  /** A server credential of the tenant. */
  readonly credential: string
  /** The default is the first workflow in which a new simulated phone can cause the event. */
  readonly workflow?: string | undefined
  /** The folder with the test roots that the service trusts. Without it, keys are software keys. */
  readonly authorityFolder?: string | undefined
  /** Waits a moment for the service. */
  readonly pause: () => Promise<void>
}

type Fetch = typeof nodeFetch

/** The parties that cause an event: a backend, a page, an operator, and phones. */
export class Stage implements Disposable {
  readonly service: Service
  readonly tenant: Tenant
  readonly pause: () => Promise<void>
  /** Calls the service as the backend, or with another token. */
  readonly call: Backend
  /** The session and the phone of the last step, to name them afterwards. */
  session: CreatedSession | undefined
  deviceId: string | undefined
  readonly #options: StageOptions
  readonly #folder = mkdtempSync(join(tmpdir(), 'bonded-trigger-'))

  private constructor(options: StageOptions, tenant: Tenant) {
    this.#options = options
    this.service = options.service
    this.pause = options.pause
    this.call = createBackend(options.origin, options.credential)
    this.tenant = tenant
  }

  /** @throws {OperatorError} where the tenant is unknown, or is none of a sandbox */
  static async open(options: StageOptions): Promise<Stage> {
    const caller = await authenticate(
      options.service,
      { authorization: `Bearer ${options.credential}`, origin: undefined },
      { callers: ['backend'] },
    )
    if (!caller.ok || caller.value.kind !== 'backend')
      throw new OperatorError('The server credential is not one of this database', {
        code: 'not_found',
      })
    const { tenant } = caller.value.credential
    if (tenant.environment !== 'sandbox')
      throw new OperatorError('Events are triggered for a sandbox tenant only')
    return new Stage(options, tenant)
  }

  /**
   * Creates a session as the backend.
   *
   * @param needs what its policy must require
   * @param subjectRef the user in whose inbox it waits
   */
  async create(needs: Needs = {}, subjectRef?: string): Promise<CreatedSession> {
    const { name, actions } = workflowOf(this.tenant, this.#options.workflow, needs)
    const body = { workflow: name, action: actions[0], subject_ref: subjectRef ?? null }
    this.session = await this.call<CreatedSession>('/sessions', { body })
    return this.session
  }

  /** Reads a session as the backend. */
  read({ id }: { readonly id: string }): Promise<FullSession> {
    return this.call(`/sessions/${id}`, { method: 'GET' })
  }

  /** The file of a phone: its keys, its token, and its counter. */
  phoneFile(name = 'phone'): string {
    return join(this.#folder, `${name}.json`)
  }

  /** A phone with the keys of its file, which are new at first. */
  phone(file = this.phoneFile(), fetch: Fetch = nodeFetch): SimulatedPhone {
    const { origin, authorityFolder } = this.#options
    return createSimulatedPhone({
      origin,
      stateFile: file,
      fetch,
      now: () => this.service.clock.now(),
      // No page uses the key, so no private key is stored.
      createBrowserKey: async ({ challenge, rp_id }) =>
        createAuthenticator({ origin, rpId: rp_id }).register(challenge),
      ...(authorityFolder === undefined
        ? {}
        : { authorityFolder, formatOfNewKeys: 'apple-app-attest' as const }),
    })
  }

  /** A publishable key of the tenant's page. */
  async publishableKey(): Promise<string> {
    const keys = await listKeys(this.service, this.tenant.id)
    const found = keys.find(
      ({ kind, scope, revokedAt }) => kind === 'publishable' && !scope && revokedAt === null,
    )
    if (found === undefined)
      throw new OperatorError('The tenant has no publishable key for all workflows')
    return found.key
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

/** A new phone has no passport, and its user is unknown. */
function isOpenToNewPhones({ subject, passport, min_key_age_seconds }: Workflow): boolean {
  return subject !== 'required' && passport !== 'required' && (min_key_age_seconds ?? 0) === 0
}

function meets(
  { require = [], delivery = 'page' }: Workflow,
  { stepsUp = false, browser = false, inbox = false }: Needs,
): boolean {
  if ((delivery === 'inbox') !== inbox) return false
  return require.includes('browser') === browser && (!stepsUp || require.length > 0)
}

function workflowOf({ workflows }: Tenant, wanted: string | undefined, needs: Needs): Workflow {
  const found =
    wanted === undefined
      ? workflows.find((workflow) => isOpenToNewPhones(workflow) && meets(workflow, needs))
      : workflows.find(({ name }) => name === wanted)
  if (found !== undefined) return found
  if (wanted !== undefined)
    throw new OperatorError(`The tenant has no workflow ${wanted}`, { code: 'not_found' })
  throw new OperatorError(
    needs.inbox === true
      ? 'The tenant has no workflow with the delivery inbox'
      : needs.browser === true
        ? 'The tenant has no workflow that requires the browser, of a new phone'
        : needs.stepsUp === true
          ? 'The tenant has no workflow that requires a proof, such as local_auth, of a new phone'
          : 'A new simulated phone can meet no workflow of the tenant. Name one with --workflow',
    { code: 'invalid' },
  )
}
