import { mock } from 'node:test'
import type { InboxPush } from '@bonded/phone'
import type { InboxContext } from '../../src/inbox/draw.ts'
import { inboxEn, inboxMessages } from '../../src/inbox/messages.ts'
import type { ListedRequest, ListScreen } from '../../src/inbox/screen.ts'
import { useSmallDocument } from './small-document.ts'

/* The list of an inbox, and what its drawing needs. */

const MINUTE = 60_000
export const HOUR = 60 * MINUTE

export const document = useSmallDocument({ scrollY: 0, innerHeight: 600, visualViewport: null })
let now = 0
mock.method(performance, 'now', () => now)
/** Moves the monotonic clock of the page. */
export const setNow = (ms: number) => void (now = ms)

const ITEM = {
  session_id: 'sess_1',
  tenant_name: 'Harbor  Bank',
  workflow: 'pay',
  action: 'submit',
  workflow_title: { en: 'Payments', de: 'Zahlungen' },
  action_title: { en: 'Pay' },
  requester: { kind: 'agent', name: 'Invoice agent', detail: 'Pays' },
  createdAtMs: -90_000,
  endsAtMs: 4 * MINUTE + 1,
  number: 1,
  count: 2,
  withinMs: 0,
} as Partial<ListedRequest> as ListedRequest
const OTHER: ListedRequest = {
  ...ITEM,
  session_id: 'sess_2',
  tenant_name: 'Shop',
  workflow_title: null,
  action_title: null,
  requester: null,
  createdAtMs: -2 * HOUR,
  endsAtMs: 22 * HOUR,
  number: 1,
  count: 1,
}
export const PAUSE = {
  tenant_id: 'ten_1',
  tenant_name: 'Shop',
  paused_until: new Date(2026, 10, 21, 9, 5).toISOString(),
}
export const push = (is_on: boolean): InboxPush => ({ public_key: 'key', is_on })
export const LIST: ListScreen = {
  name: 'list',
  items: [ITEM, OTHER],
  waiting: 2,
  notice: null,
  cursor: null,
  paused: [],
  push: null,
  hasNewer: false,
  at: null,
  isOver: false,
  isBlocked: false,
}
export const EMPTY: ListScreen = { ...LIST, items: [] }

export function contextOf(
  reported: string[],
  { access = 'recording', canNotify = true }: { access?: string; canNotify?: boolean },
): InboxContext {
  const report = (text: string) => void reported.push(text)
  return {
    messages: inboxMessages(inboxEn),
    languages: ['en-US', 'de'],
    onChoice: report,
    onRemove() {},
    motion: { access: () => access as 'recording', seconds: () => 0 },
    guard: { restart() {}, permits: () => true, follow: (listener) => listener(false) },
    read: new Set(),
    isInbox: true,
    actions: {
      open: () => report('open'),
      more: () => report('more'),
      select: ({ session_id }) => report(`select ${session_id}`),
      decline: (note) => report(`decline "${note}"`),
      resume: ({ tenant_id }) => report(`resume ${tenant_id}`),
      notify: canNotify ? ({ is_on }) => report(`notify ${is_on}`) : undefined,
    },
  }
}
