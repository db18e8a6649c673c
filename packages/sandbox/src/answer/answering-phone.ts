import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Session, stateAt } from '@bonded/core/domain/session'
import type { Service } from '@bonded/core/operations/service'
import {
  createAuthenticator,
  createSimulatedPhone,
  type nodeFetch,
  type SimulatedPassport,
  type SimulatedPhone,
} from '@bonded/simulator'
import { linkOf } from '../dev/newest-code.ts'
import { ANSWERS, type AnswerName, type AnsweringParty } from '../trigger/answers.ts'

/** Soon enough for a test, and seldom enough for an idle sandbox. */
const POLL_MS = 250
/** Sessions that are answered at once. The others wait for the next look. */
const MOST_AT_ONCE = 16
/** More than a test creates between two looks. */
const RECENT_SESSIONS = 200

/** A value that a session's context shows, such as `test_bonded`. */
const VALUE = /\btest_([a-z_]+)\b/g

/** These change the phone, so that it is a new one each time. */
const ON_A_NEW_PHONE: readonly AnswerName[] = [
  'too_many_attempts',
  'device_blocked',
  'device_key_added',
]

/** The values that a backend puts into the context of a session. */
export const TEST_VALUES = Object.keys(ANSWERS).map((name) => `test_${name}`)

interface AnsweringPhoneOptions {
  /** Undefined while it is stopped. */
  readonly service: () => Service | undefined
  readonly origin: string
  /** The folder of the phone's keys, and of the test roots if the service trusts them. */
  readonly folder: string
  readonly isAttested: boolean
  /** The passport of its user, which the service must trust. */
  readonly passport?: SimulatedPassport
  readonly onFailure: (failure: unknown, value?: string) => void
}

/** Reads the outcome that the context of a session asks for. The first value counts. */
export function answerIn({ context }: Pick<Session, 'context'>): AnswerName | undefined {
  for (const { value } of context?.display ?? [])
    for (const [, name = ''] of value.matchAll(VALUE))
      if (Object.hasOwn(ANSWERS, name)) return name as AnswerName
  return undefined
}

/** Answers the sessions of sandbox tenants whose context shows a test value, by real calls. */
export class AnsweringPhone implements AsyncDisposable {
  readonly #options: AnsweringPhoneOptions
  /** The phone of one user, who is the same across sessions and starts. */
  readonly #phone: SimulatedPhone
  readonly #answers = new Map<string, Promise<void>>()
  #answered: ReadonlySet<string> = new Set()
  #timer: NodeJS.Timeout | undefined
  #looking: Promise<unknown> = Promise.resolve()

  constructor(options: AnsweringPhoneOptions) {
    this.#options = options
    this.#phone = this.#create(join(options.folder, 'test-phone.json'))
  }

  /** Looks for sessions from now on. */
  start(): this {
    this.#looking = this.look().catch((failure: unknown) => this.#options.onFailure(failure))
    this.#timer = setTimeout(() => void this.#looking.then(() => this.start()), POLL_MS).unref()
    return this
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#timer)
    await this.#looking
    clearTimeout(this.#timer)
    await Promise.all(this.#answers.values())
  }

  /** Begins to answer the sessions since the last look. Each result ends with its answer. */
  async look(): Promise<readonly Promise<void>[]> {
    const service = this.#options.service()
    if (service === undefined) return []
    const now = service.clock.now()
    const answered = this.#answered
    const { ids, found } = await service.store.read(function* (tables) {
      const sessions = yield* tables.sessions.list({ limit: RECENT_SESSIONS })
      const found: { session: Session; name: AnswerName }[] = []
      for (const session of sessions) {
        const name = answerIn(session)
        if (name === undefined || answered.has(session.id) || stateAt(session, now) !== 'pending')
          continue
        const tenant = yield* tables.tenants.find(session.tenantId)
        if (tenant?.environment === 'sandbox') found.push({ session, name })
      }
      return { ids: new Set<string>(sessions.map(({ id }) => id)), found: found.toReversed() }
    })
    const begun = found.slice(0, Math.max(0, MOST_AT_ONCE - this.#answers.size))
    this.#answered = new Set([
      ...[...answered].filter((id) => ids.has(id)),
      ...begun.map(({ session }) => session.id),
    ])
    return begun.map((each) => this.#answer(service, each))
  }

  #answer(
    service: Service,
    { session, name }: { readonly session: Session; readonly name: AnswerName },
  ): Promise<void> {
    const folder = mkdtempSync(join(tmpdir(), 'bonded-answer-'))
    const party: AnsweringParty = {
      service,
      deviceId: undefined,
      create: async () => ({ id: session.id, qr_payload: linkOf(service, session) }),
      phoneFile: (file = 'phone') => join(folder, `${file}.json`),
      phone: (file, fetch) =>
        file === undefined && fetch === undefined && !ON_A_NEW_PHONE.includes(name)
          ? this.#phone
          : this.#create(file ?? join(folder, 'phone.json'), fetch),
    }
    const ended = ANSWERS[name](party)
      .catch((failure: unknown) => this.#options.onFailure(failure, `test_${name}`))
      .finally(() => {
        this.#answers.delete(session.id)
        rmSync(folder, { recursive: true, force: true })
      })
    this.#answers.set(session.id, ended)
    return ended
  }

  #create(stateFile: string, fetch?: typeof nodeFetch): SimulatedPhone {
    const { origin, folder, isAttested, passport, service } = this.#options
    return createSimulatedPhone({
      origin,
      stateFile,
      ...(fetch && { fetch }),
      ...(passport && { passport }),
      // Only the page's own browser can answer with it, so no private key is stored.
      createBrowserKey: async ({ challenge, rp_id }) =>
        createAuthenticator({ origin, rpId: rp_id }).register(challenge),
      ...(isAttested && { authorityFolder: folder, formatOfNewKeys: 'apple-app-attest' as const }),
      now: () => service()?.clock.now() ?? Date.now(),
    })
  }
}
