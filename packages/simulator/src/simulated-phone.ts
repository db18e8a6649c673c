import type { PhoneSession } from '@bonded/contract'
import type { PhoneDevice } from '@bonded/phone'
import { isRefusal, PhoneError } from '@bonded/phone'
import { originOf } from '@bonded/phone'
import { createPhone, type Phone } from '@bonded/phone'
import type { AbortSignalLike, FetchLike, PhoneClock, WebSocketConstructor } from '@bonded/phone'
import type { ClaimedSession } from '@bonded/phone'
import { type Enrollment, openEnrollment, registeredFormat, type KeyKind } from './enrollment.ts'
import { nodeClock, nodeFetch, nodeWebSocket } from './node-platform.ts'
import { type Outcome, PLAY, refusedStep, type Step } from './outcomes.ts'
import { type HandoffInput, readHandoff } from './read-handoff.ts'
import type { SimulatedPassport } from './passport/document.ts'
import { rememberAssertion } from './remember-assertion.ts'
import type { Random } from './sensors.ts'
import { sha256 } from './software-key.ts'
import { fileStateStore, memoryStateStore } from './state-file.ts'
import { createTestAuthority, type TestAuthority, loadTestAuthority } from './test-authority.ts'

/** The formats that a simulated phone can register. */
export const PHONE_FORMATS = ['apple-app-attest', 'android-key', 'software'] as const
export type PhoneFormat = (typeof PHONE_FORMATS)[number]

export interface SimulatedPhoneOptions {
  /** The service that payloads of the app's scheme belong to. A link names its own. */
  readonly origin?: string
  /** Where keys, tokens and counters are kept (mode 0600). Without it they end with the process. */
  readonly stateFile?: string
  /** What its keys are from now on. A phone that had another registers a new one. */
  readonly format?: PhoneFormat | undefined
  /** What its first key for the option's origin is; `software` where nothing is said. */
  readonly formatOfNewKeys?: PhoneFormat | undefined
  /**
   * Where the stand-in for Apple and Google is kept, or made, once a key is not of software. A
   * sandbox service takes its keys when `BONDED_TEST_ROOTS` names the `test-roots.json` in there.
   */
  readonly authorityFolder?: string
  readonly fetch?: FetchLike
  readonly WebSocket?: WebSocketConstructor
  readonly clock?: PhoneClock
  /** Moves the sensors; a seeded one makes a run repeatable. */
  readonly random?: Random
  /** Held to the phone when a step-up asks for its chip. */
  readonly passport?: SimulatedPassport
}

export interface RunOptions {
  /**
   * Shown what is asked, once the session is claimed, before anything is signed. Throwing stops the
   * run.
   */
  readonly onShow?: (session: PhoneSession) => void | Promise<void>
  /** Stay until the session has ended, as a phone does for its success screen. */
  readonly waitForCompletion?: boolean
  readonly signal?: AbortSignalLike
}

/** How a run went, as plain data without secrets. */
export interface RunResult {
  readonly outcome: Outcome
  readonly session_id: string
  /** The last state this phone heard of; undefined where it could not even claim. */
  readonly state: string | undefined
  /**
   * What was asked, as shown; undefined where it could not even claim. The watch token is left out.
   */
  readonly shown: Omit<PhoneSession, 'watch_token'> | undefined
  readonly steps: readonly Step[]
  readonly completed: boolean
  /** The service's no, or this phone's own. Attacks end with one. */
  readonly refusal?: {
    readonly code: string
    readonly reason: string | undefined
    readonly status: number | undefined
  }
}

export interface SimulatedPhone {
  /**
   * Registers with the option's origin, or a given one, where it is not yet.
   *
   * @throws {PhoneError} `origin_not_usable`, `refused`, `unreachable`
   */
  register(origin?: string): Promise<PhoneDevice>
  /**
   * The phone library with this phone's key for the option's origin, or a given one: to list, add
   * and remove keys.
   *
   * @throws {PhoneError} `origin_not_usable`
   */
  library(origin?: string): Promise<Phone>
  /**
   * Reads a code, claims its session and plays the outcome. Refusals are part of the result.
   *
   * @throws {PhoneError} `handoff_unreadable`, `origin_not_usable`, `unreachable`,
   * `answer_unreadable`, `cancelled`
   */
  run(handoff: HandoffInput, outcome: Outcome, options?: RunOptions): Promise<RunResult>
}

/**
 * A phone with real P-256 keys and made-up sensors, against any origin.
 *
 * @example const phone = createSimulatedPhone({ origin: 'http://localhost:8787', stateFile:
 * '.bonded/phone.json' }) const { state } = await phone.run(qrPayload, 'approve') // 'bonded'
 */
export function createSimulatedPhone(options: SimulatedPhoneOptions = {}): SimulatedPhone {
  const {
    fetch = nodeFetch,
    WebSocket = nodeWebSocket,
    clock = nodeClock,
    random = Math.random,
  } = options
  const state =
    options.stateFile === undefined ? memoryStateStore() : fileStateStore(options.stateFile)
  // As people type it, with or without the slash at its end.
  const own = options.origin?.replace(/\/+$/, '')
  const phones = new Map<string, { enrolled: Enrollment; phone: Phone }>()
  const assertion = rememberAssertion(fetch)

  const make = (origin: string, { signer, store }: Pick<Enrollment, 'signer' | 'store'>) =>
    createPhone({ origin, signer, store, sha256, fetch: assertion.fetch, WebSocket, clock })
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
    return format === 'software' ? { format } : { format, authority }
  }
  const throwaway = async (origin: string) =>
    openEnrollment(memoryStateStore(), origin, await kindAt(origin))

  /** Kept, so that all runs of this process take turns with the key. */
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
    // The service may hold this against the device for ever, so a new one takes the blame.
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
    library: async (origin) => (await ownAt(originOf({ origin }, own))).phone,
    async run(input, outcome, { onShow, waitForCompletion, signal } = {}) {
      const handoff = readHandoff(input)
      const origin = originOf(handoff, own)
      const { enrolled, phone } = await phoneFor(outcome, origin)
      const steps: Step[] = []
      const note = (step: Step) => void steps.push(step)
      let known: ClaimedSession | undefined
      let refusal: PhoneError | undefined
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
          note({ step: 'ended', state: known.session.state })
        }
      } catch (error) {
        if (!(error instanceof PhoneError) || !isAnswer(error)) throw error
        refusal = error
        note(refusedStep(error))
        if (known !== undefined) known = await phone.look(known, { signal }).catch(() => known)
      }
      return resultOf({ outcome, session_id: handoff.session_id, known, refusal, steps })
    },
  }
}

/**
 * A service that was set up anew knows the kept device or key no more; then a new one is
 * registered, once.
 */
async function renewing<T>(act: () => Promise<T>, enrolled: Enrollment): Promise<T> {
  try {
    return await act()
  } catch (error) {
    if (!isRefusal(error, 'credential_invalid') && !isRefusal(error, 'key_already_registered'))
      throw error
    await enrolled.forget()
    return act()
  }
}

/** Whether an error is a no, rather than an accident. */
function isAnswer({ code, status }: PhoneError): boolean {
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
  refusal: PhoneError | undefined
  steps: readonly Step[]
}): RunResult {
  const { outcome, session_id, known, refusal, steps } = run
  const state = known?.session.state
  const { watch_token: _secret, ...shown } = known?.session ?? { watch_token: undefined }
  return {
    outcome,
    session_id,
    state,
    shown: known === undefined ? undefined : (shown as Omit<PhoneSession, 'watch_token'>),
    steps,
    completed: state === 'completed',
    ...(refusal === undefined
      ? {}
      : { refusal: { code: refusal.code, reason: refusal.reason, status: refusal.status } }),
  }
}
