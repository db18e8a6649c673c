import assert from 'node:assert/strict'
import type { Handoff, Invitation } from '@bonded/contract'
import type {
  ClaimedSession,
  ListedKey,
  OpenedInbox,
  Phone,
  PhoneDevice,
  PhoneInbox,
} from '@bonded/phone'
import type { AppDependencies } from '../src/app.ts'
import { StorageFailure } from '../src/device-store.ts'
import type { Screen } from '../src/screen.ts'

const ID = 'sess_0000000000000000000000'
/** The request of a session, without its state. */
export const REQUEST = {
  id: ID,
  tenant_name: 'Harbour Bank',
  requesting_origin: null,
  workflow: null,
  action: null,
  workflow_title: null,
  action_title: null,
  context: null,
  outcome: null,
  expires_in_ms: 60_000,
}
export const AWAITING = {
  state: 'step_up_required',
  step_up: { required: ['browser'], reasons: [], attempts_left: 3 },
}
export const claimedIn = (members: object = {}) =>
  ({
    session: { ...REQUEST, state: 'pending', ...members },
    server_time: { read_at_ms: 0 },
  }) as unknown as ClaimedSession
const INVITATION: Invitation = {
  state: 'pending',
  ended_reason: null,
  tenant_name: 'Harbour Bank',
  tenant_logo_url: null,
  requesting_origin: null,
  registration: {
    rp_id: 'bond.example',
    attestation: 'required',
    formats: ['webauthn'],
    browser_key: 'none',
    names_user: false,
  },
}
export const DEVICE = { device_id: 'dev_1' } as Partial<PhoneDevice> as PhoneDevice
export const key = (own: boolean) =>
  ({ device_id: 'dev_1', own }) as Partial<ListedKey> as ListedKey
export const PAUSE = { tenant_id: 'ten_1', tenant_name: 'Harbour Bank', paused_until: '' }
export const PUSH = { public_key: 'key', is_on: false }
const INBOX = {
  server_time: '2026-11-21T09:30:00.000Z',
  waiting: 1,
  items: [{ session_id: ID, created_at: '2026-11-21T09:29:00.000Z', expires_in_ms: 60_000 }],
  cursor: 'next',
  paused: [PAUSE],
  push: PUSH,
} as unknown as OpenedInbox

/** What a page needs. Its calls succeed until there is a failure, and then all of them fail. */
export class Scene {
  screen: Screen = { name: 'loading' }
  shown = 0
  device: PhoneDevice | undefined = DEVICE
  found = claimedIn()
  /** What the phone does before the end of an approval. */
  beforeApproval: (options: Parameters<Phone['approve']>[1]) => Promise<unknown> = async () => {}
  beforeClaim: () => Promise<unknown> = async () => {}
  needsPermission = false
  /** Whether the invitation can be read also while other calls fail. */
  isInvited = false
  failure: Error | undefined

  /** The value, or the failure. */
  readonly #answer = async <T>(value: T): Promise<T> => {
    if (this.failure) throw this.failure
    return value
  }

  readonly phone = {
    readInvitation: async () => (this.isInvited ? INVITATION : this.#answer(INVITATION)),
    register: () => this.#answer(DEVICE),
    recover: () => this.#answer(DEVICE),
    claim: async () => {
      await this.beforeClaim()
      return this.#answer(this.found)
    },
    getSession: () => this.#answer(this.found),
    approve: async (_, options) => {
      await this.beforeApproval(options)
      return this.#answer(claimedIn({ state: 'bonded' }))
    },
    decline: () => this.#answer(claimedIn({ state: 'killed' })),
    waitForEnd: () => new Promise<never>(() => {}),
    listKeys: () => this.#answer([key(true), key(false)]),
    removeKey: () => this.#answer(undefined),
    removeBrowserKey: () => this.#answer(undefined),
  } as Partial<Phone> as Phone
  readonly inbox: PhoneInbox = {
    waiting: () => this.#answer(1),
    open: () => this.#answer(INBOX),
    resume: () => this.#answer(undefined),
    push: () => this.#answer(undefined),
  }

  readonly dependencies: AppDependencies = {
    phone: this.phone,
    phoneWithNewKey: this.phone,
    tab: { isAnotherRequest: () => false },
    recovery: { await() {}, hurry() {}, stop() {} },
    store: {
      device: async () => this.device,
      keep: async () => {},
      nextCounter: async () => 1,
      forget: async () => {
        if (this.failure instanceof StorageFailure) throw this.failure
        this.device = undefined
      },
      isStored: () => true,
    },
    discard: async () => {},
    motion: {
      access: () => (this.needsPermission ? 'needs_permission' : 'denied'),
      checked: Promise.resolve(),
      requestAccess: async () => {},
      restart() {},
      seconds: () => 0,
      complete: async () => {},
      signals: () => ({ sensor_continuity_missing: 'denied' }),
    },
    evidence: { start() {}, take: async () => undefined },
    challengeAhead() {},
    alone: (act) => act(),
    canAttest: true,
    handoff: { session_id: ID } as Partial<Handoff> as Handoff,
    origin: 'https://bond.example',
    link: 'https://bond.example/bond',
    appLink: null,
    close() {},
    show: (screen) => {
      this.screen = screen
      this.shown++
    },
  }

  /** Waits until the page does nothing more by itself. */
  async settle(expected?: Screen['name']): Promise<void> {
    for (let turns = 0; turns < 10; turns++) await new Promise(setImmediate)
    if (expected !== undefined) assert.equal(this.screen.name, expected)
  }
}

/** The screen in a few words. */
export function describe(screen: Screen): string {
  if (screen.name === 'problem') return `problem ${screen.problem}`
  if (screen.name === 'ended') return `ended ${screen.end}`
  return `${screen.name} ${'notice' in screen ? screen.notice : ''}`.trim()
}
