import type { ListedKey, ShownRequest } from '@bonded/phone'
import { drawPage } from '../../src/view/draw-page.ts'
import type { ProblemKind } from '../../src/failures.ts'
import type { ShownInvitation } from '../../src/invitation.ts'
import type { PageScreen, ProblemScreen } from '../../src/screen.ts'
import { en } from '../../src/messages/en.ts'
import { outline } from './small-document.ts'

export const REQUEST: ShownRequest = {
  tenant_name: 'Harbor Bank',
  requesting_origin: 'https://shop.example',
  workflow: 'credit_application',
  action: 'submit',
  workflow_title: { en: 'Credit application', de: 'Kreditantrag' },
  action_title: { en: 'Submit it', de: 'Einreichen' },
  requester: null,
  display: [
    { label: 'Payee', value: 'Ada Lovelace' },
    { label: 'Amount', value: '€12,500.00' },
    { label: 'Fee', value: '€3.00' },
    { label: 'Account', value: 'DE89370400440532013000' },
    { label: 'Note', value: `For ${'x'.repeat(7)}  ${'yes '.repeat(15)}` },
  ],
  text: null,
  quorum: null,
  expires_in_ms: 65_000,
}
export const SHORT: ShownRequest = { ...REQUEST, display: [{ label: 'Payee', value: 'Ada' }] }

const KEY: ListedKey = {
  device_id: 'dev_1',
  format: 'webauthn',
  created_at: '2026-11-21T09:00:00.000Z',
  own: true,
  also_removes: [],
  browser_key: null,
} as Partial<ListedKey> as ListedKey
export const KEYS: readonly [ListedKey, ListedKey, ListedKey] = [
  { ...KEY, also_removes: ['dev_3'] },
  {
    ...KEY,
    device_id: 'dev_2',
    own: false,
    format: 'apple-app-attest',
    created_at: '2026-10-02T09:00:00.000Z',
    browser_key: { created_at: '2026-10-03T09:00:00.000Z' } as ListedKey['browser_key'],
  },
  { ...KEY, device_id: 'dev_3', own: false, format: 'android-key' },
]
export const LINK = 'https://bond.example/bond?session_id=sess_1'
export const INVITATION: ShownInvitation = {
  tenant_name: 'Harbor Bank',
  logo: 'https://bond.example/logo.svg',
  requesting_origin: 'https://shop.example',
}
export const problem = (
  kind: ProblemKind,
  members: Partial<ProblemScreen> = {},
): ProblemScreen => ({
  name: 'problem',
  problem: kind,
  need: null,
  requestId: null,
  link: LINK,
  appLink: null,
  ...members,
})

/** Draws a screen of the page, and presses each of its buttons. */
export function drawn(
  screen: PageScreen,
  {
    access = 'recording',
    seconds = 0,
    ...more
  }: { access?: string; seconds?: number } & Partial<Parameters<typeof drawPage>[1]> = {},
): string {
  const reported: string[] = []
  const { title, content } = drawPage(screen, {
    messages: en,
    languages: ['en-US', 'de'],
    onChoice: (choice) => void reported.push(choice),
    onRemove: ({ key, what, also }) =>
      void reported.push([what, ...[key, ...also].map(({ device_id }) => device_id)].join(' ')),
    motion: { access: () => access as 'recording', seconds: () => seconds },
    guard: { restart() {}, permits: () => true, follow: (listener) => listener(false) },
    read: new Set(),
    ...more,
  })
  return [title, outline(content, reported)].join('\n')
}
