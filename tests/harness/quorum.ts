import {
  type CreatedQuorum,
  type CreatedSession,
  type InboxItem,
  judgeQuorum,
  type Quorum,
  type QuorumRow,
  type Workflow,
} from '@bonded/contract'
import { harness, type HarnessOptions } from './harness.ts'
import { bondedUser, INBOX_WORKFLOWS, inboxRequest } from './inbox.ts'
import type { TestPhone } from './phone.ts'

/** A workflow that two people approve within a day, beside those of one. */
export const QUORUM_WORKFLOWS: readonly Workflow[] = [
  ...INBOX_WORKFLOWS,
  {
    name: 'wire',
    actions: ['act'],
    delivery: 'inbox',
    quorum: { needed: 2 },
    session_ttl_seconds: 86_400,
    bonded_ttl_seconds: 900,
  },
]

const DIGEST = 'd'.repeat(43)
const CONTEXT = { display: [{ label: 'Amount', value: '€12,500' }], digest: DIGEST }

export interface Person {
  readonly phone: TestPhone
  readonly subjectRef: string
}

/** A service with three users who have bonded once, and the calls of a quorum. */
export async function quorumHarness(options: HarnessOptions = {}) {
  const h = await harness({ workflows: QUORUM_WORKFLOWS, ...options })
  const people = [await bondedUser(h), await bondedUser(h), await bondedUser(h)] as const
  h.clock.advance(1)
  const refs = people.map(({ subjectRef }) => subjectRef)
  const tryCreate = (given: object = {}, { token = h.shop.server, headers = {} } = {}) =>
    h.api('POST', '/quorums', {
      token,
      headers,
      body: {
        workflow: 'wire',
        context: CONTEXT,
        subject_refs: refs,
        needed: 2,
        maker_ref: null,
        ...given,
      },
    })
  const ask = async (given: object = {}): Promise<CreatedQuorum> => {
    const created = await tryCreate(given)
    if (created.status !== 201) throw new Error(`create answered ${created.status} ${created.text}`)
    return created.body
  }
  /** The requests that a phone lists. */
  const listed = async ({ phone }: Person) => {
    const body = inboxRequest(phone, h.now())
    const reply = await h.api('POST', '/inbox', { token: phone.device_token, body })
    return reply.body.items as readonly InboxItem[]
  }
  /** The session of a user in a quorum, as the phone opens it, with its completion secret. */
  const sessionOf = async (person: Person, { sessions }: CreatedQuorum) => {
    const items = await listed(person)
    const item = items.find(({ session_id }) => sessions.some(({ id }) => id === session_id))
    if (item === undefined) throw new Error('the request is not listed')
    const { session_id: id, nonce } = item
    return { ...sessions.find((each) => each.id === id), id, nonce } as CreatedSession
  }
  const approve = async (person: Person, quorum: CreatedQuorum) => {
    const session = await sessionOf(person, quorum)
    await h.claim(person.phone, session)
    const reply = await h.attest(person.phone, await h.view(person.phone, session))
    if (reply.body.state !== 'bonded') throw new Error(`attest answered ${reply.text}`)
    return session
  }
  const tryRead = (id: string, token = h.shop.server) => h.api('GET', `/quorums/${id}`, { token })
  const read = async ({ quorum_id }: CreatedQuorum): Promise<Quorum> =>
    (await tryRead(quorum_id)).body
  /** What a gate says that reads the quorum now. */
  const judge = async (quorum: CreatedQuorum, row: Partial<QuorumRow> = {}) => {
    const { sessions, server_time } = await read(quorum)
    const { quorum_id: id, needed, of } = quorum
    const expected = { workflow: 'wire', action: 'act' }
    return judgeQuorum({
      sessions,
      row: { id, needed, of, refs: refs.slice(0, of), ...row },
      minimum: 2,
      owner: 'maker',
      pending: { ...expected, owner: 'maker' },
      expected: { ...expected, context_digest: DIGEST },
      now: Date.parse(server_time),
    })
  }
  /** The states of the sessions, and why they ended, by the number of each state. */
  const states = async (quorum: CreatedQuorum) =>
    (await read(quorum)).sessions
      .map(({ state, ended_reason }) => ended_reason ?? state)
      .toSorted()
      .join(' ')
  return {
    h,
    people,
    refs,
    tryCreate,
    ask,
    listed,
    sessionOf,
    approve,
    tryRead,
    read,
    judge,
    states,
    [Symbol.asyncDispose]: () => h[Symbol.asyncDispose](),
  }
}
