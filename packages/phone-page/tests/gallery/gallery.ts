import type { ListedKey, ShownRequest } from '@bonded/phone'
import { drawInbox } from '../../src/inbox/draw.ts'
import { inboxEn, inboxMessages, type InboxMessages } from '../../src/inbox/messages.ts'
import type { ListedRequest, ListScreen } from '../../src/inbox/screen.ts'
import { en } from '../../src/messages/en.ts'
import type { MotionAccess } from '../../src/motion.ts'
import type { ProblemKind } from '../../src/failures.ts'
import type { Need } from '../../src/problem.ts'
import type { ShownInvitation } from '../../src/invitation.ts'
import type {
  Choice,
  End,
  PageScreen,
  RequestScreen,
  Screen,
  SetupScreen,
} from '../../src/screen.ts'
import { drawPage } from '../../src/view/draw-page.ts'
import type { TapGuard } from '../../src/tap-guard.ts'
import { createView, type View } from '../../src/view/view.ts'

const REQUEST: ShownRequest = {
  tenant_name: 'Harbour Bank',
  requesting_origin: 'https://www.harbour-bank.example',
  workflow: 'credit_application',
  action: 'submit_application',
  workflow_title: { en: 'Credit application', de: 'Kreditantrag', ar: 'طلب قرض' },
  action_title: null,
  requester: null,
  text: null,
  quorum: null,
  display: [
    { label: 'Amount', value: '€12,500.00' },
    { label: 'Applicant', value: 'Ada Lovelace' },
    { label: 'Reference', value: 'DE89370400440532013000DE89370400440532013000' },
  ],
  expires_in_ms: 272_000,
}
/** Texts as long as the service permits, with a page of 200 characters. */
const LONGEST: ShownRequest = {
  ...REQUEST,
  tenant_name: 'Volks- und Raiffeisenbank Garmisch-Partenkirchen am Wettersteine',
  requesting_origin: `https://${'online-banking.volksbank-raiffeisenbank-garmisch.'.repeat(4)}test`,
  workflow_title: { en: 'Application for a consumer credit with a variable interest rate.' },
  action_title: { en: 'Submit the application, and authorize the debit of all payments.' },
  display: Array.from({ length: 8 }, (_, index) => ({
    label: `${index + 1}. Beneficiary of the transfer, as the account’s holder names it`,
    value:
      'Gemeinnützige Wohnungsbaugenossenschaft der Eisenbahner und Postbediensteten, account '.concat(
        'DE89370400440532013000, for the invoice 2026-0417-000938 of 14 November 2026 about the ',
        'heating of the third building, the parking space and the garden, by standing order.',
      ),
  })),
}
/** An agent's request with a text of 200 lines, runs from right to left and lines that wrap. */
const TEXT: ShownRequest = {
  ...REQUEST,
  requesting_origin: null,
  requester: { kind: 'agent', name: 'Invoice agent', detail: 'Pays invoices up to €20,000' },
  display: [{ label: 'Pay an invoice', value: '€12,500.00 to משה כהן בע״מ' }],
  text: [
    '{',
    '  "payee": "משה כהן", "بنك": "مصرف الميناء ١٢ ٣٤", "iban": "DE89370400440532013000",',
    ...Array.from(
      { length: 196 },
      (_, line) => `  "line ${line + 1}": "${'item '.repeat(line % 24)}",`,
    ),
    '  "total":    12500.00',
    '}',
  ].join('\n'),
}
const AGENTS_REQUEST: ShownRequest = {
  ...REQUEST,
  requesting_origin: null,
  requester: TEXT.requester,
  expires_in_ms: 86_000_000,
}
const QUORUMS_REQUEST: ShownRequest = { ...AGENTS_REQUEST, quorum: { needed: 2, of: 3 } }
const ITEM: ListedRequest = {
  session_id: 'sess_1',
  nonce: '',
  origin: '',
  tenant_name: REQUEST.tenant_name,
  workflow_title: { en: 'Payments', de: 'Zahlungen', ar: 'المدفوعات' },
  action_title: null,
  requester: TEXT.requester,
  created_at: '2026-11-27T09:00:00.000Z',
  expires_in_ms: 86_000_000,
  createdAtMs: performance.now() - 90_000,
  endsAtMs: performance.now() + 240_000,
  number: 1,
  count: 2,
  withinMs: 20_000,
}
const ITEMS: readonly ListedRequest[] = [
  ITEM,
  {
    ...ITEM,
    session_id: 'sess_2',
    tenant_name: LONGEST.tenant_name,
    workflow_title: LONGEST.workflow_title,
    action_title: LONGEST.action_title,
    requester: { kind: 'person', name: 'משה כהן בע״מ', detail: null },
    createdAtMs: performance.now() - 40_000_000,
    endsAtMs: performance.now() + 46_000_000,
  },
  { ...ITEM, session_id: 'sess_3', workflow_title: null, requester: null },
]
/** A drawn logo, because the gallery reaches no network. */
const LOGO = `data:image/svg+xml,${encodeURIComponent('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 120 32"><rect width="32" height="32" rx="8" fill="#0b57d0"/><path d="M6 22q5-8 10 0t10 0" stroke="#fff" stroke-width="3" fill="none"/><rect x="40" y="10" width="80" height="12" rx="6" fill="#76838f"/></svg>')}`
const LINK =
  'https://bond.example/bond?session_id=sess_8PF5MPVSS2XfjjRRfzIuMZ&nonce=rEJwjWnPm3nQ8TCl0f8DiPRjJy3W9BCnQ1Ra3sWYv2E'
const INVITATION: ShownInvitation = {
  tenant_name: REQUEST.tenant_name,
  logo: LOGO,
  requesting_origin: REQUEST.requesting_origin,
}
const KEY: ListedKey = {
  device_id: 'dev_1',
  format: 'webauthn',
  environment: 'production',
  status: 'active',
  created_at: '2026-03-01T09:00:00.000Z',
  last_assertion_at: null,
  added_by: null,
  browser_key: null,
  also_removes: [],
  own: true,
}
const KEYS: readonly ListedKey[] = [
  KEY,
  {
    ...KEY,
    format: 'apple-app-attest',
    own: false,
    browser_key: { rp_id: 'bond.example', created_at: '2026-11-25T09:00:00.000Z' },
  },
]
const NEEDS: readonly Need[] = ['passport', 'carrier', 'motion', 'other']

/** Screens, and where it matters what the motion sensors do. */
const screens: Record<string, { screen: Screen; access?: MotionAccess }> = {
  loading: { screen: { name: 'loading' } },
  desktop: {
    screen: { name: 'desktop', link: 'https://bond.example/bond?session_id=sess_1&nonce=2' },
  },
  setup: { screen: setupScreen({ appLink: 'pulse://bond' }) },
  'setup-no-page': {
    screen: setupScreen({ invitation: { ...INVITATION, logo: null, requesting_origin: null } }),
  },
  'setup-recovery': { screen: setupScreen({ recovery: 'offered', appLink: 'pulse://bond' }) },
  'setup-not-recovered': {
    screen: setupScreen({ recovery: 'offered', hasNotRecovered: true }),
  },
  'setup-known': { screen: setupScreen({ recovery: 'only', hasNotRecovered: true }) },
  'new-key': { screen: { name: 'new_key', tenant: REQUEST.tenant_name } },
  renew: { screen: { name: 'renew' } },
  motion: { screen: { name: 'motion' }, access: 'needs_permission' },
  request: { screen: requestScreen() },
  'request-longest': { screen: requestScreen({ request: LONGEST }) },
  'request-text': { screen: requestScreen({ request: TEXT }) },
  'request-notice': { screen: requestScreen({ notice: 'not_verified_by_user' }) },
  'request-another': { screen: requestScreen({ isAnother: true }), access: 'recording' },
  'request-no-page': {
    screen: requestScreen({ request: { ...REQUEST, requesting_origin: null } }),
  },
  ...Object.fromEntries(
    (['recording', 'denied'] as const).map((access) => [
      `step-up-${access}`,
      {
        screen: { name: 'step_up', step: { kind: 'motion', attemptsLeft: 2 }, request: REQUEST },
        access,
      } as const,
    ]),
  ),
  'browser-key': { screen: { name: 'browser_key', request: REQUEST } },
  'awaiting-browser': {
    screen: { name: 'awaiting_browser', request: REQUEST, notice: null },
  },
  'awaiting-browser-offline': {
    screen: { name: 'awaiting_browser', request: REQUEST, notice: 'connection_lost' },
  },
  'request-not-confirmed': { screen: requestScreen({ notice: 'browser_not_confirmed' }) },
  'step-up-verify': {
    screen: { name: 'step_up', step: { kind: 'verify', attemptsLeft: 1 }, request: REQUEST },
  },
  working: { screen: { name: 'working', task: 'signing', request: REQUEST } },
  checking: { screen: { name: 'working', task: 'checking', request: REQUEST } },
  approved: { screen: { name: 'approved', request: REQUEST, isSynced: false } },
  unreported: { screen: { name: 'unreported', request: REQUEST, isSynced: false } },
  'approved-synced': { screen: { name: 'approved', request: REQUEST, isSynced: true } },
  ...Object.fromEntries(
    (['accepted', 'in_review', null] as const).map((outcome) => [
      `completed-${outcome}`,
      { screen: { name: 'completed', request: REQUEST, outcome } } as const,
    ]),
  ),
  ...Object.fromEntries(
    kindsOf<End>('end').map((end) => [
      `ended-${end}`,
      { screen: { name: 'ended', end, tenant: REQUEST.tenant_name } as const },
    ]),
  ),
  keys: { screen: { name: 'keys', keys: KEYS, notice: null } },
  'keys-notice': { screen: { name: 'keys', keys: KEYS, notice: 'not_verified_by_user' } },
  ...Object.fromEntries(
    (['phone', 'passkey'] as const).map((what) => [
      `removal-${what}`,
      {
        screen: {
          name: 'removal',
          key: KEYS[1] ?? KEY,
          what,
          also: what === 'phone' ? KEYS.slice(1) : [],
        } as const,
      },
    ]),
  ),
  removing: { screen: { name: 'working', task: 'removing', request: null } },
  ...Object.fromEntries(
    kindsOf<ProblemKind>('problem').map((problem) => [
      `problem-${problem}`,
      { screen: problemOf(problem, null) },
    ]),
  ),
  ...Object.fromEntries(
    NEEDS.map((need) => [`need-${need}`, { screen: problemOf('app_required', need) }]),
  ),
  'inbox-waiting': { screen: { name: 'inbox', waiting: 3, notice: null } },
  'inbox-empty': { screen: { name: 'inbox', waiting: 0, notice: null }, access: 'recording' },
  'inbox-list': { screen: listScreen() },
  'inbox-list-newer': {
    screen: listScreen({ items: [ITEM], cursor: null, paused: [], hasNewer: true, isOver: true }),
  },
  'inbox-list-empty': { screen: listScreen({ items: [], cursor: null, paused: [] }) },
  'inbox-none': { screen: { name: 'no_inbox', hasNotRecovered: true } },
  'inbox-request': { screen: requestScreen({ request: AGENTS_REQUEST }) },
  'inbox-note': {
    screen: { name: 'note', tenant_name: LONGEST.tenant_name, notice: null },
  },
  'inbox-approved': { screen: { name: 'approved', request: AGENTS_REQUEST, isSynced: false } },
  'inbox-request-quorum': { screen: requestScreen({ request: QUORUMS_REQUEST }) },
  'inbox-approved-quorum': {
    screen: { name: 'approved', request: QUORUMS_REQUEST, isSynced: false },
  },
  'inbox-decided': { screen: { name: 'decided' } },
  'inbox-reported': { screen: { name: 'ended', end: 'reported', tenant: 'Harbour Bank' } },
}

function listScreen(members: Partial<ListScreen> = {}): ListScreen {
  return {
    name: 'list',
    items: ITEMS,
    waiting: ITEMS.length,
    cursor: 'sess_1',
    paused: [
      {
        tenant_id: 'ten_1',
        tenant_name: LONGEST.tenant_name,
        paused_until: '2026-11-28T09:00:00.000Z',
      },
    ],
    at: null,
    hasNewer: false,
    isOver: false,
    isBlocked: true,
    notice: null,
    push: { public_key: '', is_on: false },
    ...members,
  }
}

function setupScreen(members: Partial<SetupScreen> = {}): Screen {
  return {
    name: 'setup',
    invitation: INVITATION,
    link: LINK,
    appLink: null,
    recovery: 'none',
    hasNotRecovered: false,
    ...members,
  }
}

function requestScreen(members: Partial<RequestScreen> = {}): Screen {
  return { name: 'request', request: REQUEST, notice: null, isAnother: false, ...members }
}

function problemOf(problem: ProblemKind, need: Need | null): Screen {
  return {
    name: 'problem',
    problem,
    need,
    requestId: 'req_4sB0f2mWJ1f8gGk1qXw0aB',
    link: LINK,
    appLink: 'pulse://bond',
  }
}

/** The middle parts of the keys `{group}.….title`. */
function kindsOf<Kind extends string>(group: 'end' | 'problem'): Kind[] {
  return Object.keys(en).flatMap((key) => {
    const [first, kind, last] = key.split('.')
    return first === group && last === 'title' ? [kind as Kind] : []
  })
}

/** Half as long again, as German and Finnish are, with letters that need room above and below. */
function pseudo(text: string): string {
  const longer = text.replaceAll(/\{\w+\}|[aeiou]/g, (part) =>
    part.startsWith('{') ? part : `${part}${part}́`,
  )
  return `[${longer}]`
}

const PSEUDO = Object.fromEntries(
  Object.entries(inboxEn).map(([key, text]) => [key, pseudo(text)]),
) as InboxMessages

/** A language as a test inserts it: its words, by the page's own language files. */
interface GalleryLanguage {
  readonly tag: string
  readonly dir: string
  readonly words: InboxMessages
}

const choices: Choice[] = []
let drawnIn: View<Screen> | undefined

Object.assign(globalThis, {
  gallery: {
    screens,
    /** What the user has chosen since the last drawing. */
    choices,
    draw(name: string, language: GalleryLanguage | null) {
      const root = document.querySelector('main')
      const drawn = screens[name]
      if (root === null || drawn === undefined) throw new RangeError(name)
      choices.length = 0
      document.documentElement.lang = language?.tag ?? 'en'
      document.documentElement.dir = language?.dir ?? 'ltr'
      const isInbox = name.startsWith('inbox-')
      const words = language?.words ?? inboxEn
      const choose = (choice: Choice) => void choices.push(choice)
      const guard: TapGuard = {
        restart: () => {},
        permits: () => true,
        follow: (listener) => listener(false),
      }
      const context = {
        messages: isInbox ? inboxMessages(words) : words,
        languages: [language?.tag ?? 'en'],
        onChoice: choose,
        onRemove: () => {},
        // Drawn as it is after the first second.
        guard,
        read: new Set<string>(),
        isInbox,
        actions: { open() {}, more() {}, select() {}, decline() {}, resume() {}, notify() {} },
        motion: { access: () => drawn.access ?? 'needs_permission', seconds: () => 4 },
      } as const
      drawnIn = createView(
        root,
        (screen: Screen) =>
          isInbox ? drawInbox(screen, context) : drawPage(screen as PageScreen, context),
        guard,
      )
      drawnIn.show(drawn.screen)
    },
    /** Draws another screen after the last one. */
    again(name: string) {
      const drawn = screens[name]
      if (drawn === undefined) throw new RangeError(name)
      drawnIn?.show(drawn.screen)
    },
    pseudo: { tag: 'en', dir: 'ltr', words: PSEUDO } satisfies GalleryLanguage,
  },
})
