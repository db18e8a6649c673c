import type { ShownRequest } from '@bonded/phone'
import { en, type Messages } from '../../src/messages.ts'
import type { ProblemKind } from '../../src/problem.ts'
import type { End, Screen } from '../../src/screen.ts'
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
const STEP = { attemptsLeft: 2, seconds: 12, neededSeconds: 30 } as const

const screens: Record<string, Screen> = {
  loading: { name: 'loading' },
  desktop: { name: 'desktop', link: 'https://bond.example/bond?session_id=sess_1&nonce=2' },
  setup: { name: 'setup', appLink: 'pulse://bond' },
  request: { name: 'request', request: REQUEST, notice: null },
  'request-notice': { name: 'request', request: REQUEST, notice: 'not_verified_by_user' },
  'step-up-motion': {
    name: 'step_up',
    step: { ...STEP, kind: 'motion', motionAccess: 'recording' },
    request: REQUEST,
  },
  'step-up-permission': {
    name: 'step_up',
    step: { ...STEP, kind: 'motion', motionAccess: 'needs_permission' },
    request: REQUEST,
  },
  'step-up-verify': {
    name: 'step_up',
    step: { ...STEP, kind: 'verify_again', motionAccess: 'recording' },
    request: REQUEST,
  },
  working: { name: 'working', task: 'signing', request: REQUEST },
  approved: { name: 'approved', request: REQUEST },
  completed: { name: 'completed', request: REQUEST },
  ...Object.fromEntries(
    (Object.keys(en.ends) as End[]).map((end): [string, Screen] => [
      `ended-${end}`,
      { name: 'ended', end, tenant: REQUEST.tenant_name },
    ]),
  ),
  ...Object.fromEntries(
    (Object.keys(en.problems) as ProblemKind[]).map((problem): [string, Screen] => [
      `problem-${problem}`,
      { name: 'problem', problem, requestId: 'req_4sB0f2mWJ1f8gGk1qXw0aB' },
    ]),
  ),
}

/** Half as long again, as German and Finnish are, with letters that need room above and below. */
function pseudo<T>(value: T): T {
  if (typeof value === 'string')
    return `[${value.replaceAll(/[aeiou]/g, (letter) => `${letter}${letter}́`)}]` as T
  if (typeof value === 'function')
    return ((...given: unknown[]) =>
      pseudo((value as (...given: unknown[]) => string)(...given))) as T
  if (Array.isArray(value)) return value.map(pseudo) as T
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [key, pseudo(inner)]),
    ) as T
  return value
}

const LANGUAGES: Record<string, Messages> = { en, pseudo: pseudo(en) }

Object.assign(globalThis, {
  gallery: {
    screens,
    draw(name: string, language: string) {
      const root = document.querySelector('main')
      const screen = screens[name]
      if (root === null || screen === undefined) throw new RangeError(name)
      const view = createView(root, {
        messages: LANGUAGES[language] ?? en,
        onChoice: () => {},
        motionAccess: () => 'needs_permission',
      })
      view.show(screen)
    },
  },
})
