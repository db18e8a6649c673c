import { randomBytes } from 'node:crypto'
import {
  type CreateQuorumRequest,
  type FullSession,
  hasEnded,
  makeId,
  parseMembers,
  type ResponseLike,
} from '@bonded/contract'
import type { FetchLike } from '../src/index.ts'
import { fakeService } from './fake-service.ts'

interface FakeQuorum {
  readonly quorum_id: string
  readonly needed: number
  readonly of: number
  readonly ids: readonly string[]
}

/** The fake service, with quorums. Its sessions fail as those of {@link fakeService} do. */
export function quorumService(now: () => number) {
  const service = fakeService(now)
  const quorums = new Map<string, FakeQuorum>()
  const keys = new Map<string, string>()
  const creates: CreateQuorumRequest[] = []
  const sessionsOf = ({ ids }: FakeQuorum) =>
    ids.map((id) => service.session(id)).filter((session) => session !== undefined)
  const quorumOf = (id: string) => [...quorums.values()].find(({ ids }) => ids.includes(id))

  const fetch: FetchLike = async (url, init) => {
    const { origin, pathname } = new URL(url)
    const [, kind = '', id = '', verb] = pathname.split('/api/v1')[1]?.split('/') ?? []
    if (kind === 'quorums')
      return id === '' ? create(origin, init) : read(quorums.get(id), origin, init)
    const quorum = quorumOf(id)
    if (quorum === undefined) return service.fetch(url, init)
    if (verb === 'form-completed') return complete(quorum, url, init)
    const response = await service.fetch(url, init)
    const session = parseMembers(await response.text())
    // A session of a quorum alone has no verification.
    return session?.['id'] === id ? answer(200, { ...session, verification: null }) : response
  }

  async function create(origin: string, init: Parameters<FetchLike>[1]): Promise<ResponseLike> {
    const { subject_refs, needed, maker_ref, ...shared } = JSON.parse(
      init.body ?? '',
    ) as CreateQuorumRequest
    const key = init.headers['idempotency-key'] ?? ''
    const sessions: Record<string, unknown>[] = []
    for (const [index, subject_ref] of subject_refs.entries()) {
      const headers = { ...init.headers, 'idempotency-key': `${key} ${index}` }
      const body = JSON.stringify({ ...shared, subject_ref })
      const response = await service.fetch(`${origin}/api/v1/sessions`, { ...init, headers, body })
      if (response.status !== 201) return response
      sessions.push(JSON.parse(await response.text()) as Record<string, unknown>)
    }
    const quorum_id = keys.get(key) ?? makeId('quo', randomBytes(16))
    if (!keys.has(key)) {
      keys.set(key, quorum_id)
      creates.push({ subject_refs, needed, maker_ref, ...shared })
      const ids = sessions.map((session) => session['id'] as string)
      const quorum = { quorum_id, needed, of: ids.length, ids }
      quorums.set(quorum_id, quorum)
      const context = { ...shared.context, quorum: { id: quorum_id, needed, of: ids.length } }
      for (const each of ids) service.change(each, { context: context as FullSession['context'] })
    }
    return answer(201, { quorum_id, needed, of: sessions.length, sessions })
  }

  async function read(
    quorum: FakeQuorum | undefined,
    origin: string,
    init: Parameters<FetchLike>[1],
  ): Promise<ResponseLike> {
    if (quorum === undefined) return answer(404, refused('session_not_found', 'not_found'))
    const sessions: unknown[] = []
    for (const id of quorum.ids) {
      const response = await service.fetch(`${origin}/api/v1/sessions/${id}`, init)
      if (response.status !== 200) return response
      sessions.push(JSON.parse(await response.text()))
    }
    const { ids: _, ...rule } = quorum
    return answer(200, { ...rule, server_time: new Date(now()).toISOString(), sessions })
  }

  async function complete(
    quorum: FakeQuorum,
    ...call: Parameters<FetchLike>
  ): Promise<ResponseLike> {
    const approved = sessionsOf(quorum).filter(({ state }) => /^(bonded|completed)$/.test(state))
    if (approved.length < quorum.needed)
      return answer(400, refused('session_not_bonded', 'invalid_request'))
    const response = await service.fetch(...call)
    if (response.status === 200) end(quorum, ({ state }) => state === 'pending')
    return response
  }

  function end(quorum: FakeQuorum, isOpen: (session: FullSession) => boolean) {
    for (const session of sessionsOf(quorum))
      if (isOpen(session)) service.change(session.id, { state: 'killed', ended_reason: 'decided' })
  }

  return {
    ...service,
    fetch,
    creates,
    quorumIds: () => [...quorums.keys()],
    /** The session of the user with this reference. */
    idOf: (quorumId: string, ref: string) =>
      sessionsOf(quorums.get(quorumId) as FakeQuorum).find(({ subject_ref }) => subject_ref === ref)
        ?.id ?? '',
    bond(id: string, verification: Parameters<typeof service.bond>[1] = {}) {
      service.bond(id, verification)
      service.change(id, { reported_at: null })
    },
    /** One no ends the sessions of all. */
    decline(id: string, ended_reason: 'user_declined' | 'user_unexpected', note?: string) {
      service.change(id, {
        state: 'killed',
        ended_reason,
        ...(note && { decline_note: note }),
      } as object)
      end(quorumOf(id) as FakeQuorum, ({ state }) => !hasEnded(state))
    },
    states: (quorumId: string) =>
      sessionsOf(quorums.get(quorumId) as FakeQuorum).map(
        ({ state, ended_reason }) => ended_reason ?? state,
      ),
  }
}

function answer(status: number, body: object): ResponseLike {
  return { status, headers: { get: () => null }, text: async () => JSON.stringify(body) }
}

function refused(reason: string, code: string) {
  return { error: { code, reason, message: 'Refused.', requestId: 'req_test' } }
}
