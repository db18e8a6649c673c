import type { ListedKey } from '@bonded/phone'
import type { KeysScreen, Removal } from '../screen.ts'
import { element } from './dom.ts'
import {
  button,
  closeButton,
  type DrawingContext,
  type DrawnScreen,
  footer,
  noticeBox,
  pairs,
  statement,
} from './parts.ts'
import { fill } from './fill.ts'

/** The makers' own names, which no language translates. */
const MODELS: Readonly<Partial<Record<ListedKey['format'], string>>> = {
  'apple-app-attest': 'iPhone',
  'android-key': 'Android',
}

/** The phones that approve for the user, each with what can be removed of it. */
export function drawKeys({ keys, notice }: KeysScreen, context: DrawingContext): DrawnScreen {
  const { messages } = context
  return statement(
    { symbol: ['phone', 'busy'], title: messages['keys.title'], body: [messages['keys.body']] },
    ...(notice === null ? [] : [noticeBox(messages[`notice.${notice}`])]),
    ...keys.map((key) => drawKey(key, { keys, context })),
    footer(
      closeButton(context),
      element('a', { class: 'button plain', href: '/inbox' }, messages['inbox.title']),
    ),
  )
}

function drawKey(
  key: ListedKey,
  { keys, context }: { readonly keys: readonly ListedKey[]; readonly context: DrawingContext },
): HTMLElement {
  const { messages, onRemove } = context
  const planted = keys.filter(({ device_id }) => key.also_removes.includes(device_id))
  const ask = (what: Removal['what'], text: string) =>
    button(text, () => onRemove({ key, what, also: what === 'phone' ? planted : [] }), {
      tone: 'stop',
    })
  return element(
    'div',
    { class: 'key', role: 'group', 'aria-label': nameOf(key, context) },
    describe(key, context),
    element(
      'div',
      { class: 'refusals' },
      ask('phone', messages['keys.remove']),
      ...(key.browser_key ? [ask('passkey', messages['keys.remove_passkey'])] : []),
    ),
  )
}

/** What a removal does, before the phone asks its user for the screen lock. */
export function drawRemoval({ key, what, also }: Removal, context: DrawingContext): DrawnScreen {
  const { messages, onChoice } = context
  const title = messages[what === 'phone' ? 'keys.remove' : 'keys.remove_passkey']
  return statement(
    { symbol: ['mark', 'warn'], title, body: [messages[`removal.${what}.body`]] },
    describe(key, context),
    ...(also.length === 0
      ? []
      : [
          element('p', {}, messages['removal.phone.also']),
          ...also.map((other) => describe(other, context)),
        ]),
    footer(
      button(title, () => onChoice('continue'), { tone: 'stop' }),
      button(messages['action.back'], () => onChoice('keys'), { plain: true }),
    ),
  )
}

function describe(key: ListedKey, context: DrawingContext): HTMLElement {
  const { messages, languages } = context
  const added = (at: string) => {
    const date = new Date(at).toLocaleDateString(languages[0], { dateStyle: 'medium' })
    return fill(messages['keys.added'], { date })
  }
  const browserKey = key.browser_key
  return pairs([
    { label: nameOf(key, context), value: added(key.created_at) },
    ...(browserKey === null
      ? []
      : [{ label: messages['keys.passkey'], value: added(browserKey.created_at) }]),
  ])
}

function nameOf({ own, format }: ListedKey, { messages }: DrawingContext): string {
  const name = messages[own ? 'keys.own' : 'keys.other']
  const model = MODELS[format]
  return model === undefined ? name : `${name} · ${model}`
}
