import { sanitizeDisplayValue } from '@bonded/contract'
import {
  isRejection,
  type OpenedInbox,
  type Phone,
  PhoneError,
  type PhoneInbox,
  requestOf,
} from '@bonded/phone'
import { createDeciding } from '../decide.ts'
import type { DeviceStore } from '../device-store.ts'
import type { EvidenceAhead } from '../evidence-ahead.ts'
import type { MotionRecorder } from '../motion.ts'
import { afterPrompt, isNotRecovered, problemOf } from '../problem.ts'
import type { Choice, Screen } from '../screen.ts'
import { isPassing, Stage, type StageDependencies } from '../stage.ts'
import type { Notifications } from './notifications.ts'
import type { InboxActions, ListedRequest, ListScreen, TimedRequest } from './screen.ts'

/** How often a visible page asks for the number. */
const COUNT_EVERY_MS = 5_000
/** One lost response is usual on a phone that moves. */
const MISSES_SHOWN = 2

/**
 * What the service answers to a nonce of the list, which opens its request for two to four minutes:
 * the first reason for six hours, and the second one after them. The request may still wait.
 */
const STALE = ['challenge_expired', 'nonce_mismatch'] as const

interface InboxDependencies extends Omit<StageDependencies, 'tab'> {
  readonly phone: Phone
  readonly inbox: PhoneInbox
  readonly store: DeviceStore
  readonly motion: MotionRecorder
  readonly createEvidence: () => EvidenceAhead
  readonly isVisible: () => boolean
  readonly schedule: (delayMs: number, act: () => void) => () => void
  /** Absent where this browser has none. */
  readonly notifications: Notifications | undefined
  /** Leaves for the list of phones. */
  readonly showPhones: () => void
}

/** The controller of the inbox. */
export interface InboxApp extends InboxActions {
  choose(choice: Choice): void
  /** Resolves when the phone may prompt its user for a signature. */
  beforeSigning(): Promise<void>
  /** A key has signed. */
  onSigned(key: { readonly isSynced: boolean }): void
}

/** Shows how many requests wait, lists them on demand, and takes one at a time to its end. */
// oxlint-disable-next-line max-lines-per-function -- short steps of one page
export function startInbox(dependencies: InboxDependencies): InboxApp {
  const { phone, inbox, store, motion, notifications, createEvidence } = dependencies
  let list: ListScreen | undefined
  const itemOf = (id?: string) => list?.items.find(({ session_id }) => session_id === id)
  const show = (screen: Screen) => {
    const { id, ended_reason } = stage.claimed?.session ?? {}
    if (screen.name === 'request') dependencies.show({ ...screen, alike: itemOf(id) })
    else if (screen.name === 'ended' && screen.end === 'canceled' && ended_reason === 'decided')
      dependencies.show({ name: 'decided' })
    else dependencies.show(screen)
  }
  // The user chooses each request in a list, so none replaces another unnoticed.
  const stage = new Stage({ ...dependencies, show, tab: { isAnotherRequest: () => false } })
  // What was fetched for one request must not approve the next.
  let evidence = createEvidence()
  let deciding = createDeciding(stage, { ...dependencies, evidence })
  /** Whether the next signature is one that the user has just asked for. */
  let isExpected = false
  const shows = (...names: string[]) => names.includes(stage.screen.name)

  const leave = () => {
    stage.leave()
    void evidence.take()
  }
  const start = async (hasNotRecovered = false) => {
    leave()
    list = undefined
    stage.present({ name: 'loading' })
    try {
      if ((await store.device()) === undefined)
        return stage.present({ name: 'no_inbox', hasNotRecovered })
      stage.present({ name: 'inbox', waiting: await inbox.waiting(), notice: null })
    } catch (failure) {
      stage.fail(failure)
    }
  }
  const showList = (changes: Partial<ListScreen> = {}) => {
    leave()
    if (list === undefined) return void start()
    list = { ...list, at: null, isOver: false, ...changes }
    stage.present(list)
  }
  const without = (gone: string, { items, waiting }: ListScreen): Partial<ListScreen> => ({
    items: items.filter(({ session_id }) => session_id !== gone),
    waiting: Math.max(0, waiting - 1),
  })

  let isFirst = true
  /** Runs what prompts the user, who has just asked for it. One closed prompt changes nothing. */
  const ask = async (act: () => Promise<void>) => {
    const { screen } = stage
    // A second tap, before the first one had its effect.
    if (screen.name === 'loading') return
    stage.present({ name: 'loading' })
    try {
      await act()
      isFirst = true
    } catch (failure) {
      const asksAgain = afterPrompt(failure, 'open', isFirst) === 'ask'
      isFirst &&= !asksAgain
      if (asksAgain) stage.present(screen)
      else stage.fail(failure)
    }
  }
  const signed = async <T>(act: () => Promise<T>) => {
    isExpected = true
    try {
      return await act()
    } finally {
      isExpected = false
    }
  }
  const read = async (cursor: string | null = null) => {
    const opened = await signed(() => inbox.open({ cursor }))
    list = listOf(opened, cursor === null ? [] : (list?.items ?? []))
  }
  const claim = (id: string) => {
    const item = itemOf(id)
    if (item === undefined) throw new PhoneError('refused', { reason: 'session_not_live' })
    return phone.claim(item)
  }
  const select = async (id: string) => {
    const claimed = await claim(id).catch(async (failure: unknown) => {
      if (!STALE.some((reason) => isRejection(failure, reason))) throw failure
      await read()
      return claim(id)
    })
    evidence = createEvidence()
    deciding = createDeciding(stage, { ...dependencies, evidence })
    stage.claimed = claimed
    stage.presentClaimed(claimed)
    if (claimed.session.state === 'pending') evidence.start(claimed)
  }
  const back = () => {
    const { claimed, screen } = stage
    if (screen.name === 'note') return stage.presentRequest(screen.notice)
    // The report has ended other requests too, and has paused their tenant.
    if (screen.name === 'ended' && screen.end === 'reported') return void start()
    const id = claimed?.session.id
    if (id === undefined || list === undefined) return showList()
    showList(shows('request', 'problem') ? { at: id } : without(id, list))
  }
  stage.onBack = () => showList()

  let misses = 0
  const count = async () => {
    const { screen } = stage
    if (!dependencies.isVisible() || (screen.name !== 'inbox' && screen.name !== 'list')) return
    const waiting = await inbox.waiting().catch((failure: unknown) => failure)
    // The user has gone on meanwhile.
    if (stage.screen !== screen) return
    if (typeof waiting !== 'number') {
      if (isFinal(waiting)) return stage.fail(waiting)
      // A closed prompt says nothing about the connection.
      if (afterPrompt(waiting, 'open') !== undefined || ++misses < MISSES_SHOWN) return
      if (screen.notice === null) stage.present({ ...screen, notice: 'connection_lost' })
      return
    }
    misses = 0
    if (screen.name === 'inbox') return stage.present({ name: 'inbox', waiting, notice: null })
    const hasNewer = screen.hasNewer || waiting > screen.waiting
    list = { ...screen, hasNewer, waiting: Math.min(screen.waiting, waiting), notice: null }
    stage.present(list)
  }
  const watch = () => dependencies.schedule(COUNT_EVERY_MS, () => void count().finally(watch))
  watch()

  const reject = (reason: 'user_declined' | 'user_unexpected') => {
    const { claimed, screen } = stage
    const needsApp = screen.name === 'problem' && screen.problem === 'app_required'
    if (
      claimed === undefined ||
      !(needsApp || shows('request', 'step_up', 'browser_key', 'approved'))
    )
      return
    // Who takes an approval back is not asked why.
    if (reason === 'user_unexpected' || shows('approved'))
      return void deciding.decline(claimed, { reason })
    stage.untilContinued.cancel()
    const { tenant_name } = requestOf(claimed.session)
    const notice = screen.name === 'request' ? screen.notice : null
    stage.present({ name: 'note', tenant_name, notice })
  }
  const act: Readonly<Partial<Record<Choice, () => void>>> = {
    approve: () =>
      void (stage.claimed !== undefined && shows('request') && deciding.approve(stage.claimed)),
    decline: () => reject('user_declined'),
    report: () => reject('user_unexpected'),
    continue: () => stage.untilContinued.end(),
    retry: back,
    close: back,
    recover: () =>
      void ask(() =>
        phone.recover().then(
          () => start(),
          (failure: unknown) => {
            if (!isNotRecovered(failure)) throw failure
            return start(true)
          },
        ),
      ),
    set_up_again: () =>
      void store.forget().then(
        () => start(),
        (failure: unknown) => stage.fail(failure),
      ),
    keys: dependencies.showPhones,
  }

  void start()
  return {
    choose: (choice) => act[choice]?.(),
    open: () =>
      // The sensors record while the user reads. Some browsers allow that only after a tap.
      void motion.requestAccess().then(() => ask(() => read().then(() => showList()))),
    more: () =>
      void ask(async () => {
        const known = list?.items.length ?? 0
        await read(list?.cursor)
        showList({ at: list?.items[known]?.session_id ?? null })
      }),
    select: ({ session_id: id }) =>
      void ask(() =>
        select(id).catch((failure: unknown) => {
          if (list === undefined || !OVER.has(problemOf(failure))) throw failure
          showList({ ...without(id, list), isOver: true })
        }),
      ),
    decline(text) {
      const { claimed } = stage
      const note = sanitizeDisplayValue(text.replaceAll(/\s+/g, ' ').trim()) || undefined
      if (claimed !== undefined && shows('note'))
        void deciding.decline(claimed, { reason: 'user_declined', note })
    },
    resume: ({ tenant_id }) =>
      void ask(async () => {
        await signed(() => inbox.resume(tenant_id))
        const paused = list?.paused.filter((pause) => pause.tenant_id !== tenant_id)
        showList({ paused: paused ?? [] })
      }),
    notify:
      notifications &&
      ((push) =>
        void ask(async () => {
          const subscribe = () => notifications.subscribe(push.public_key).catch(() => undefined)
          const endpoint = push.is_on ? null : await subscribe()
          if (endpoint === undefined) return showList({ isBlocked: true })
          await signed(() => inbox.push(endpoint))
          // The service has no endpoint any more, so a subscription that is left gets nothing.
          if (endpoint === null) await notifications.unsubscribe().catch(() => {})
          showList({ push: { ...push, is_on: !push.is_on }, isBlocked: false })
        })),
    async beforeSigning() {
      // A renewal of the token prompts although the user did nothing, so the page explains it.
      const { screen } = stage
      if (isExpected || !shows('loading', 'inbox', 'list')) return
      stage.present({ name: 'renew' })
      await stage.untilContinued()
      stage.present(screen)
    },
    onSigned: ({ isSynced }) => void (stage.isSynced = isSynced),
  }
}

/** A rejection that no later poll changes. */
const isFinal = (failure: unknown) =>
  failure instanceof PhoneError && failure.code === 'refused' && !isPassing(problemOf(failure))

/** Another phone holds the request, or it has ended. */
const OVER: ReadonlySet<string> = new Set([
  'qr_code_expired',
  'session_over',
  'claimed_by_other_phone',
])

function listOf(
  { server_time, waiting, items, cursor, paused, push = null }: OpenedInbox,
  known: readonly ListedRequest[],
): ListScreen {
  const now = performance.now()
  const listed = items.map((item) => ({
    ...item,
    createdAtMs: now + Date.parse(item.created_at) - Date.parse(server_time),
    endsAtMs: now + item.expires_in_ms,
  }))
  const before = known.filter(
    ({ session_id }) => !items.some((item) => item.session_id === session_id),
  )
  const all = numbered([...before, ...listed])
  const fresh = { at: null, hasNewer: false, isOver: false, isBlocked: false, notice: null }
  return { name: 'list', items: all, waiting, cursor, paused, push, ...fresh }
}

/** Numbers the requests of a list that look alike. The newest one of a tenant is the first. */
function numbered(items: readonly TimedRequest[]): ListedRequest[] {
  const looks = items.map(({ tenant_name, workflow_title, action_title, requester }) =>
    JSON.stringify([tenant_name, workflow_title, action_title, requester?.name]),
  )
  return items.map((item, index) => {
    const same = items.filter((_, other) => looks[other] === looks[index])
    const times = same.map(({ createdAtMs }) => createdAtMs)
    const count = same.length
    const withinMs = Math.max(...times) - Math.min(...times)
    return { ...item, number: count - same.indexOf(item), count, withinMs }
  })
}
