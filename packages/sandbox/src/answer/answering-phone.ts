import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Session } from '@bonded/core/domain/session'
import { OperatorError } from '@bonded/core/operations/admin/operator-error'
import { stateAt } from '@bonded/core/protocol/states'
import type { Service } from '@bonded/core/operations/service'
import {
  createAuthenticator,
  createSimulatedPhone,
  type nodeFetch,
  type SimulatedPassport,
  type SimulatedPhone,
} from '@bonded/simulator'
import { linkOf } from '../dev/newest-code.ts'
import { whyWithoutEffect } from './effect.ts'
import { ANSWERS, type AnswerName, type AnsweringParty } from '../trigger/answers.ts'

/**
 * How long after its creation a session is answered: the backend stores its row before the first
 * webhook, as with a user.
 */
export const ANSWER_AFTER_MS = 250
/** Sessions that are answered at once. The others wait for one of them. */
const MOST_AT_ONCE = 16

/** A value that a session's context shows, such as `test_bonded`. */
const VALUE = /\btest_([a-z][a-z_]*)\b/g

/** These change the phone, so that it is a new one each time. */
const ON_A_NEW_PHONE: readonly AnswerName[] = [
  'too_many_attempts',
  'device_blocked',
  'device_key_added',
]

/** The values that a backend puts into the context of a session. */
export const TEST_VALUES = Object.keys(ANSWERS).map((name) => `test_${name}`)

interface AnsweringPhoneOptions {
  readonly origin: string
  /** The folder of the phone's keys, and of the test roots if the service trusts them. */
  readonly folder: string
  readonly isAttested: boolean
  /** The passport of its user, which the service must trust. */
  readonly passport?: SimulatedPassport
  readonly onFailure: (failure: unknown, value: string) => void
}

/** A session to answer. */
interface Asked {
  readonly service: Service
  readonly session: Session
  /** The value without its `test_`. */
  readonly name: string
}

/** Reads the outcome that the context of a session asks for. The first value counts. */
export function answerIn(session: Pick<Session, 'context'>): AnswerName | undefined {
  return valuesIn(session).find(isAnswer)
}

function valuesIn({ context }: Pick<Session, 'context'>): string[] {
  return (context?.display ?? []).flatMap(({ value }) =>
    [...value.matchAll(VALUE)].map(([, name = '']) => name),
  )
}

function isAnswer(name: string): name is AnswerName {
  return Object.hasOwn(ANSWERS, name)
}

/** Answers the sessions of sandbox tenants whose context shows a test value, by real calls. */
export class AnsweringPhone implements AsyncDisposable {
  readonly #options: AnsweringPhoneOptions
  /** The phone of one user, who is the same across sessions and starts. */
  readonly #phone: SimulatedPhone
  readonly #waiting: Asked[] = []
  readonly #answers = new Set<Promise<void>>()
  #service: Service | undefined
  #unsubscribe = () => {}

  constructor(options: AnsweringPhoneOptions) {
    this.#options = options
    this.#phone = this.#create(join(options.folder, 'test-phone.json'))
  }

  /** Answers the sessions that this service creates from now on, in place of an earlier service. */
  watch(service: Service): void {
    this.#unsubscribe()
    this.#service = service
    this.#unsubscribe = service.bus.subscribeAll(({ change }) => {
      if (change?.events[0].kind !== 'created') return
      const { session } = change
      const values = valuesIn(session)
      const name = values.find(isAnswer) ?? values[0]
      if (name === undefined) return
      service.clock.schedule(service.clock.now() + ANSWER_AFTER_MS, () => {
        // Stopped, or replaced by another service.
        if (this.#service !== service) return
        this.#waiting.push({ service, session, name })
        this.#answerNext()
      })
    })
  }

  /** Waits for the answers that are due. */
  async settled(): Promise<void> {
    while (this.#answers.size > 0) await Promise.all(this.#answers)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#unsubscribe()
    this.#service = undefined
    this.#waiting.length = 0
    await this.settled()
  }

  #answerNext(): void {
    while (this.#answers.size < MOST_AT_ONCE) {
      const asked = this.#waiting.shift()
      if (asked === undefined) return
      const answer = this.#answer(asked)
        .catch((failure: unknown) => this.#options.onFailure(failure, `test_${asked.name}`))
        .finally(() => {
          this.#answers.delete(answer)
          this.#answerNext()
        })
      this.#answers.add(answer)
    }
  }

  async #answer({ service, session: { id, tenantId }, name }: Asked): Promise<void> {
    const { tenant, session } = await service.store.read(function* ({ tenants, sessions }) {
      return { tenant: yield* tenants.find(tenantId), session: yield* sessions.find(id) }
    })
    if (tenant?.environment !== 'sandbox') return
    if (session === undefined || stateAt(session, service.clock.now()) !== 'pending') return
    if (!isAnswer(name))
      throw new OperatorError(
        `There is no such test value. The values are ${TEST_VALUES.join(', ')}`,
      )
    const withoutEffect = whyWithoutEffect(name, session)
    if (withoutEffect !== undefined) throw new OperatorError(withoutEffect)
    const folder = mkdtempSync(join(tmpdir(), 'bonded-answer-'))
    const party: AnsweringParty = {
      service,
      deviceId: undefined,
      create: async () => ({ id, qr_payload: linkOf(service, session) }),
      phoneFile: (file = 'phone') => join(folder, `${file}.json`),
      phone: (file, fetch) =>
        file === undefined && fetch === undefined && !ON_A_NEW_PHONE.includes(name)
          ? this.#phone
          : this.#create(file ?? join(folder, 'phone.json'), fetch),
    }
    try {
      await ANSWERS[name](party)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }

  #create(stateFile: string, fetch?: typeof nodeFetch): SimulatedPhone {
    const { origin, folder, isAttested, passport } = this.#options
    return createSimulatedPhone({
      origin,
      stateFile,
      ...(fetch && { fetch }),
      ...(passport && { passport }),
      // Only the page's own browser can answer with it, so no private key is stored.
      createBrowserKey: async ({ challenge, rp_id }) =>
        createAuthenticator({ origin, rpId: rp_id }).register(challenge),
      ...(isAttested && { authorityFolder: folder, formatOfNewKeys: 'apple-app-attest' as const }),
      now: () => this.#service?.clock.now() ?? Date.now(),
    })
  }
}
