import type { ShownRequest } from '@bonded/phone'
import { en, type MessageKey, type Messages } from '../../src/messages/en.ts'
import type { MotionAccess } from '../../src/motion.ts'
import type { Need, ProblemKind } from '../../src/problem.ts'
import type { End, RequestScreen, Screen } from '../../src/screen.ts'
import { createView } from '../../src/view/view.ts'

const REQUEST: ShownRequest = {
  tenant_name: 'Harbour Bank',
  requesting_origin: 'https://www.harbour-bank.example',
  workflow: 'credit_application',
  action: 'submit_application',
  display: [
    { label: 'Amount', value: '€12,500.00' },
    { label: 'Applicant', value: 'Ada Lovelace' },
    { label: 'Reference', value: 'DE89370400440532013000DE89370400440532013000' },
  ],
  expires_in_ms: 272_000,
}
const NEEDS: readonly Need[] = ['passport', 'carrier', 'motion', 'other']

/** Screens, and where it matters what the motion sensors do. */
const screens: Record<string, { screen: Screen; access?: MotionAccess }> = {
  loading: { screen: { name: 'loading' } },
  desktop: {
    screen: { name: 'desktop', link: 'https://bond.example/bond?session_id=sess_1&nonce=2' },
  },
  setup: { screen: { name: 'setup', appLink: 'pulse://bond' } },
  renew: { screen: { name: 'renew' } },
  request: { screen: requestScreen() },
  'request-notice': { screen: requestScreen({ notice: 'not_verified_by_user' }) },
  'request-another': { screen: requestScreen({ isAnother: true }), access: 'recording' },
  'request-no-page': {
    screen: requestScreen({ request: { ...REQUEST, requesting_origin: null } }),
  },
  ...Object.fromEntries(
    (['recording', 'needs_permission', 'denied'] as const).map((access) => [
      `step-up-${access}`,
      {
        screen: { name: 'step_up', step: { kind: 'motion', attemptsLeft: 2 }, request: REQUEST },
        access,
      } as const,
    ]),
  ),
  'step-up-verify': {
    screen: { name: 'step_up', step: { kind: 'verify', attemptsLeft: 1 }, request: REQUEST },
  },
  working: { screen: { name: 'working', task: 'signing', request: REQUEST } },
  approved: { screen: { name: 'approved', request: REQUEST, isSynced: false } },
  'approved-synced': { screen: { name: 'approved', request: REQUEST, isSynced: true } },
  completed: { screen: { name: 'completed', request: REQUEST } },
  ...Object.fromEntries(
    kindsOf<End>('end').map((end) => [
      `ended-${end}`,
      { screen: { name: 'ended', end, tenant: REQUEST.tenant_name } as const },
    ]),
  ),
  ...Object.fromEntries(
    kindsOf<ProblemKind>('problem').map((problem) => [
      `problem-${problem}`,
      { screen: problemOf(problem, null) },
    ]),
  ),
  ...Object.fromEntries(
    NEEDS.map((need) => [`need-${need}`, { screen: problemOf('app_required', need) }]),
  ),
}

function requestScreen(members: Partial<RequestScreen> = {}): Screen {
  return { name: 'request', request: REQUEST, notice: null, isAnother: false, ...members }
}

function problemOf(problem: ProblemKind, need: Need | null): Screen {
  return { name: 'problem', problem, need, requestId: 'req_4sB0f2mWJ1f8gGk1qXw0aB' }
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
  Object.entries(en).map(([key, text]) => [key as MessageKey, pseudo(text)]),
) as Messages

/** A language as a test inserts it: its words, by the page's own language files. */
interface GalleryLanguage {
  readonly tag: string
  readonly dir: string
  readonly words: Messages
}

Object.assign(globalThis, {
  gallery: {
    screens,
    draw(name: string, language: GalleryLanguage | null) {
      const root = document.querySelector('main')
      const drawn = screens[name]
      if (root === null || drawn === undefined) throw new RangeError(name)
      document.documentElement.lang = language?.tag ?? 'en'
      document.documentElement.dir = language?.dir ?? 'ltr'
      const view = createView(root, {
        messages: language?.words ?? en,
        onChoice: () => {},
        // Drawn as it is after the first second.
        guard: { restart: () => {}, permits: () => true, follow: (listener) => listener(false) },
        motion: { access: () => drawn.access ?? 'needs_permission', seconds: () => 12 },
      })
      view.show(drawn.screen)
    },
    pseudo: { tag: 'en', dir: 'ltr', words: PSEUDO } satisfies GalleryLanguage,
  },
})
