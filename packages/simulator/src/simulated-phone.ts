import type { PhoneSession } from '@bonded/contract'
import type { PhoneDevice } from '@bonded/phone'
import { isRejection, PhoneError } from '@bonded/phone'
import { originOf } from '@bonded/phone'
import { createInbox, createPhone, type Phone, type PhoneInbox } from '@bonded/phone'
import type {
  AbortSignalLike,
  CreateBrowserKey,
  FetchLike,
  PhoneClock,
  WaitingRequest,
  WebSocketConstructor,
} from '@bonded/phone'
import type { ClaimedSession } from '@bonded/phone'
import { type Enrollment, openEnrollment, registeredFormat, type KeyKind } from './enrollment.ts'
import { nodeClock, nodeFetch, nodeWebSocket } from './node-platform.ts'
import { type Outcome, PLAY, rejectedStep, type Step } from './outcomes.ts'
import { type HandoffInput, readHandoff } from './read-handoff.ts'
import type { SimulatedPassport } from './passport/document.ts'
import { rememberAssertion } from './remember-assertion.ts'
import {
  type ScannedRequest,
  scannedRequest,
  type ShownSession,
  shownSession,
} from './scanned-request.ts'
import type { Random } from './sensors.ts'
import { serviceTime } from './service-time.ts'
import { sha256 } from './software-key.ts'
import { fileStateStore, memoryStateStore } from './state-file.ts'
import { createTestAuthority, type TestAuthority, loadTestAuthority } from './test-authority.ts'

/** The formats that a simulated phone can register. */
export const PHONE_FORMATS = ['apple-app-attest', 'android-key', 'software'] as const
export type PhoneFormat = (typeof PHONE_FORMATS)[number]

export interface SimulatedPhoneOptions {
  /** The service for payloads of the app's scheme. A link names its own. */
  readonly origin?: string
  /**
   * File for keys, tokens and counters (mode 0600). Without it, they exist only in this process.
   */
  readonly stateFile?: string
  /** The format of its keys. A phone with a key of another format registers a new one. */
  readonly format?: PhoneFormat | undefined
  /** The format of the first key for the origin of the options. Default: `software`. */
  readonly formatOfNewKeys?: PhoneFormat | undefined
  /**
   * Folder of the test authority, which is created with the first key that is not a software key. A
   * sandbox service accepts these keys if `BONDED_TEST_ROOTS` names the `test-roots.json` in it.
   */
  readonly authorityFolder?: string
  readonly fetch?: FetchLike
  readonly WebSocket?: WebSocketConstructor
  readonly clock?: PhoneClock
  /**
   * The time of day at which its authority certifies a key: by default that of the service, because
   * the clock of a sandbox can be ahead of the machine's.
   */
  readonly now?: () => number
  /** Random source of the sensors. A seeded one makes a run repeatable. */
  readonly random?: Random
  /** The passport that is read when a step-up requires its chip. */
  readonly passport?: SimulatedPassport
  /** Creates its browser keys. Without it, the phone approves no request that needs one. */
  readonly createBrowserKey?: CreateBrowserKey
}

export interface RunOptions {
  /** Called with the claimed session before the phone signs anything. Throwing stops the run. */
  readonly onShow?: (session: PhoneSession) => void | Promise<void>
  /** Wait until the session has ended, as a phone does for its success screen. */
  readonly waitForCompletion?: boolean
  readonly signal?: AbortSignalLike
}

/** The result of a run, as plain data without secrets. */
export interface RunResult {
  readonly outcome: Outcome
  readonly session_id: string
  /** The last known state. Undefined if the claim failed. */
  readonly state: string | undefined
  /** The claimed session without its watch token. Undefined if the claim failed. */
  readonly shown: ShownSession | undefined
  readonly steps: readonly Step[]
  readonly completed: boolean
  /** The rejection by the service or by this phone. Attacks end with one. */
  readonly rejection?: {
    readonly code: string
    readonly reason: string | undefined
    readonly status: number | undefined
  }
}

export interface SimulatedPhone {
  /**
   * Registers with the given origin, or that of the options, unless it is registered.
   *
   * @throws {PhoneError} `origin_not_usable`, `refused`, `unreachable`
   */
  register(origin?: string): Promise<PhoneDevice>
  /**
   * Returns the phone library with this phone's key for the given origin, or that of the options:
   * to list, add and remove keys.
   *
   * @throws {PhoneError} `origin_not_usable`
   */
  library(origin?: string): Promise<Phone>
  /**
   * Returns the inbox of this phone's user at the given origin, or that of the options. `inboxLink`
   * of an item is what `run` takes.
   *
   * @throws {PhoneError} `origin_not_usable`
   */
  inbox(origin?: string): Promise<PhoneInbox>
  /**
   * Deletes the device and replaces the key for the given origin, or that of the options. The phone
   * registers again at its next use.
   *
   * @throws {PhoneError} `origin_not_usable`
   */
  reset(origin?: string): Promise<void>
  /**
   * Reads a QR code or link, claims its session and plays the outcome. A rejection is part of the
   * result.
   *
   * @throws {PhoneError} `handoff_unreadable`, `origin_not_usable`, `unreachable`,
   * `answer_unreadable`, `cancelled`
   */
  run(handoff: HandoffInput, outcome: Outcome, options?: RunOptions): Promise<RunResult>
  /**
   * Reads a QR code or link and claims its session. A screen then decides step by step.
   *
   * @throws {PhoneError} `handoff_unreadable`, `origin_not_usable`, `refused`, `unreachable`,
   * `answer_unreadable`, `cancelled`
   */
  scan(handoff: HandoffInput, signal?: AbortSignalLike): Promise<ScannedRequest>
}

/**
 * A phone with real P-256 keys and made-up sensors, against any origin.
 *
 * @example const phone = createSimulatedPhone({ origin: 'http://localhost:8787', stateFile:
 * '.bonded/phone.json' }) const { state } = await phone.run(qrPayload, 'approve') // 'bonded'
 */
// oxlint-disable-next-line max-lines-per-function -- short methods of one phone
export function createSimulatedPhone(options: SimulatedPhoneOptions = {}): SimulatedPhone {
  const {
    fetch = nodeFetch,
    WebSocket = nodeWebSocket,
    clock = nodeClock,
    random = Math.random,
  } = options
  const state =
    options.stateFile === undefined ? memoryStateStore() : fileStateStore(options.stateFile)
  // The origin may have a trailing slash.
  const own = options.origin?.replace(/\/+$/, '')
  const phones = new Map<string, { enrolled: Enrollment; phone: Phone }>()
  const assertion = rememberAssertion(fetch)

  const dependencies = (
    origin: string,
    { signer, store }: Pick<Enrollment, 'signer' | 'store'>,
  ): Parameters<typeof createPhone>[0] => ({
    origin,
    signer,
    store,
    sha256,
    fetch: assertion.fetch,
    WebSocket,
    clock,
    createBrowserKey: options.createBrowserKey,
    // `describeRequest` writes the marks as escapes.
    isolatesValues: true,
    // It also prints the requester, and each line of a text with its number.
    showsText: true,
    showsQuorum: true,
  })
  const make = (...of: Parameters<typeof dependencies>) => createPhone(dependencies(...of))
  let made: TestAuthority | undefined
  const authority = () =>
    (made ??=
      options.authorityFolder === undefined
        ? createTestAuthority()
        : loadTestAuthority(options.authorityFolder))
  const kindAt = async (origin: string): Promise<KeyKind> => {
    const format =
      options.format ??
      (await registeredFormat(state, origin)) ??
      (origin === own ? options.formatOfNewKeys : undefined) ??
      'software'
    return format === 'software'
      ? { format }
      : { format, authority, now: options.now ?? (() => serviceTime(fetch, origin)) }
  }
  const throwaway = async (origin: string) =>
    openEnrollment(memoryStateStore(), origin, await kindAt(origin))

  /** Cached, so that concurrent runs in this process use the key one at a time. */
  const ownAt = async (origin: string) => {
    const enrolled = openEnrollment(state, origin, await kindAt(origin))
    const known = phones.get(origin) ?? { enrolled, phone: make(origin, enrolled) }
    phones.set(origin, known)
    return known
  }
  const phoneFor = async (
    outcome: Outcome,
    origin: string,
  ): Promise<{ enrolled: Enrollment; phone: Phone }> => {
    if (outcome !== 'stale-counter') return ownAt(origin)
    // The service may mark the device as suspect, so the run uses a new device.
    const enrolled = await throwaway(origin)
    return {
      enrolled,
      phone: make(origin, {
        ...enrolled,
        store: { ...enrolled.store, nextCounter: async () => 1 },
      }),
    }
  }

  return {
    async register(origin) {
      const { enrolled, phone } = await ownAt(originOf({ origin }, own))
      return renewing(() => phone.register(), enrolled)
    },
    async scan(input, signal) {
      const handoff = readHandoff(input)
      const { enrolled, phone } = await ownAt(originOf(handoff, own))
      const claimed = await renewing(() => phone.claim(handoff, { signal }), enrolled)
      return scannedRequest(phone, claimed, { clock, random, passport: options.passport })
    },
    library: async (origin) => (await ownAt(originOf({ origin }, own))).phone,
    async inbox(origin) {
      const at = originOf({ origin }, own)
      return createInbox(dependencies(at, (await ownAt(at)).enrolled))
    },
    reset: async (origin) => (await ownAt(originOf({ origin }, own))).enrolled.reset(),
    async run(input, outcome, { onShow, waitForCompletion, signal } = {}) {
      const handoff = readHandoff(input)
      const origin = originOf(handoff, own)
      const { enrolled, phone } = await phoneFor(outcome, origin)
      const steps: Step[] = []
      const note = (step: Step) => void steps.push(step)
      let known: ClaimedSession | undefined
      let rejection: PhoneError | undefined
      try {
        known = await renewing(() => phone.claim(handoff, { signal }), enrolled)
        note({ step: 'claimed', state: known.session.state })
        await onShow?.(known.session)
        const claimed = known
        const stranger = async () => make(origin, await throwaway(origin))
        const repeatAssertion = () => assertion.repeat(claimed.session.id)
        known = await PLAY[outcome]({
          phone,
          claimed,
          clock,
          random,
          passport: options.passport,
          note,
          signal,
          repeatAssertion,
          stranger,
        })
        if (waitForCompletion === true) {
          known = await phone.waitForEnd(known, { signal })
          const { state, ended_reason: reason } = known.session
          note({ step: 'ended', state, ...(reason !== null && { reason }) })
        }
      } catch (error) {
        if (!(error instanceof PhoneError) || !isResponse(error)) throw error
        rejection = error
        note(rejectedStep(error))
        if (known !== undefined)
          known = await phone.getSession(known, { signal }).catch(() => known)
      }
      return resultOf({ outcome, session_id: handoff.session_id, known, rejection, steps })
    },
  }
}

/** The link that opens a request of the inbox, as `run` and `scan` take it. */
export function inboxLink({ origin, session_id, nonce }: WaitingRequest): string {
  return `${origin}/bond?${new URLSearchParams({ session_id, nonce }).toString()}`
}

/** Registers a new key once if the service no longer knows the device or key. */
async function renewing<T>(act: () => Promise<T>, enrolled: Enrollment): Promise<T> {
  try {
    return await act()
  } catch (error) {
    if (!isRejection(error, 'credential_invalid') && !isRejection(error, 'key_already_registered'))
      throw error
    await enrolled.reset()
    return act()
  }
}

/** Whether an error is a rejection and not a failure. */
function isResponse({ code, status }: PhoneError): boolean {
  return (
    code === 'step_up_unsupported' ||
    code === 'not_awaiting' ||
    (code === 'refused' && (status ?? 0) < 500)
  )
}

function resultOf(run: {
  outcome: Outcome
  session_id: string
  known: ClaimedSession | undefined
  rejection: PhoneError | undefined
  steps: readonly Step[]
}): RunResult {
  const { outcome, session_id, known, rejection, steps } = run
  const state = known?.session.state
  return {
    outcome,
    session_id,
    state,
    shown: known && shownSession(known),
    steps,
    completed: state === 'completed',
    ...(rejection === undefined
      ? {}
      : {
          rejection: { code: rejection.code, reason: rejection.reason, status: rejection.status },
        }),
  }
}
