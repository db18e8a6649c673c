import { MAX_NOTE_LENGTH } from '@bonded/contract'
import { purposeOf } from '@bonded/phone'
import type { Screen } from '../screen.ts'
import { element } from '../view/dom.ts'
import { clockOf } from '../view/draw-request.ts'
import { drawScreen, keysButton } from '../view/draw-screen.ts'
import { fill, fillNodes } from '../view/fill.ts'
import {
  button,
  closeButton,
  type DrawingContext,
  type DrawnScreen,
  footer,
  headingOf,
  noticeBox,
  statement,
} from '../view/parts.ts'
import { verbatim } from '../view/verbatim.ts'
import type { InboxMessages } from './messages.ts'
import type {
  Alike,
  InboxActions,
  InboxScreen,
  ListedRequest,
  ListScreen,
  NoteScreen,
} from './screen.ts'

export interface InboxContext extends DrawingContext {
  readonly messages: InboxMessages
  readonly actions: InboxActions
}

/** Draws the inbox, and the screens of one request with a way back to it. */
export function drawInbox(screen: Screen, context: InboxContext): DrawnScreen {
  const { messages, onChoice } = context
  const rule = drawRule(screen, context)
  switch (screen.name) {
    case 'inbox':
      return drawWaiting(screen, context)
    case 'list':
      return drawList(screen, context)
    case 'no_inbox':
      return statement(
        {
          symbol: ['phone', 'busy'],
          title: messages['inbox.title'],
          body: [messages['inbox.none']],
        },
        ...(screen.hasNotRecovered ? [noticeBox(messages['setup.recover.failed'])] : []),
        footer(button(messages['setup.recover'], () => onChoice('recover'))),
      )
    case 'request': {
      const timeLeft = (ms: number) =>
        ms > LAST_MS ? durationIn(context.languages[0], ms) : clockOf(ms)
      const drawn = drawScreen(screen, { ...context, timeLeft, rule })
      const back = button(messages['action.back'], () => onChoice('close'), { plain: true })
      back.classList.add('back')
      return { ...drawn, content: [back, ...drawAlike(screen.alike, context), ...drawn.content] }
    }
    case 'note':
      return drawNote(screen, context)
    case 'decided':
      return statement(
        {
          symbol: ['clock', 'calm'],
          title: messages['problem.session_over.title'],
          body: [messages['inbox.decided']],
        },
        footer(closeButton(context), keysButton(context)),
      )
    case 'keys':
    case 'removal':
      throw new RangeError('the inbox lists no phones')
    default:
      return drawScreen(screen, { ...context, rule })
  }
}

/** Asks why the user declines. The field may stay empty. */
function drawNote({ tenant_name: tenant }: NoteScreen, context: InboxContext): DrawnScreen {
  const { messages, actions, onChoice } = context
  const title = messages['inbox.why']
  const field = element('textarea', {
    'aria-label': title,
    dir: 'auto',
    maxlength: `${MAX_NOTE_LENGTH}`,
  })
  const counter = element('p', { class: 'note' })
  const count = () => {
    counter.textContent = `${field.value.length}/${MAX_NOTE_LENGTH}`
  }
  field.addEventListener('input', count)
  count()
  return statement(
    { symbol: ['phone', 'busy'], title, body: fillNodes(messages['inbox.note'], { tenant }) },
    field,
    counter,
    footer(
      button(messages['action.decline'], () => actions.decline(field.value)),
      button(messages['action.back'], () => onChoice('close'), { plain: true }),
    ),
  )
}

/** How many people must approve a request, in the numbers that this phone signs. */
function drawRule(screen: Screen, { languages, messages }: InboxContext) {
  const quorum = 'request' in screen ? screen.request?.quorum : undefined
  if (!quorum) return undefined
  const write = (people: number) => people.toLocaleString(languages[0])
  const values = { needed: write(quorum.needed), of: write(quorum.of) }
  return fillNodes(messages['inbox.quorum'], values)
}

type WaitingScreen = Extract<InboxScreen, { name: 'inbox' }>

/** The number, which changes in place: the focus stays where the user has it. */
function drawWaiting(first: WaitingScreen, context: InboxContext): DrawnScreen {
  const { messages, actions, motion } = context
  const lead = new Text()
  // The list has the pauses too, so it opens without a request.
  const open = button(messages['inbox.open'], () => actions.open())
  const drawn = statement(
    { symbol: ['phone', 'busy'], title: messages['inbox.title'], body: [lead] },
    ...(motion.access() === 'needs_permission'
      ? [element('p', { class: 'note' }, messages['motion.note'])]
      : []),
    footer(open, keysButton(context)),
  )
  const { heading } = drawn
  heading?.setAttribute('aria-live', 'polite')
  const show = ({ waiting, notice }: WaitingScreen) => {
    const count = waiting.toLocaleString(context.languages[0])
    const isEmpty = waiting === 0
    if (heading !== undefined)
      heading.textContent = fill(messages[isEmpty ? 'inbox.title' : 'inbox.waiting'], { count })
    lead.data = messages[isEmpty ? emptyOf(notice) : 'inbox.body']
    open.classList.toggle('plain', isEmpty)
  }
  show(first)
  return {
    ...drawn,
    update(next) {
      if (next.name === 'inbox') show(next)
      return next.name === 'inbox'
    },
  }
}

/** What an inbox without a request says. */
const emptyOf = (notice: ListScreen['notice']) =>
  notice === null ? 'inbox.empty' : (`notice.${notice}` as const)

function drawList(first: ListScreen, context: InboxContext): DrawnScreen {
  const { messages, actions } = context
  const { items, paused, push, cursor, isOver, isBlocked } = first
  const title = messages['inbox.title']
  const heading = headingOf([title])
  const rows = items.map((item) => drawItem(item, context))
  const place = rows[items.findIndex(({ session_id }) => session_id === first.at)]
  const newer = footer(button(messages['inbox.newer'], () => actions.open()))
  const empty = new Text()
  const show = ({ hasNewer, notice }: ListScreen) => {
    newer.hidden = !hasNewer
    empty.data = messages[emptyOf(notice)]
  }
  show(first)
  return {
    title,
    heading: place?.open ?? heading,
    tick: () => rows.forEach(({ tick }) => tick()),
    update(next) {
      if (next.name !== 'list' || next.items !== items || next.paused !== paused) return false
      if (next.isOver !== isOver || next.push !== push) return false
      if (next.isBlocked !== isBlocked) return false
      show(next)
      return true
    },
    content: [
      heading,
      ...(isOver ? [noticeBox(messages['problem.session_over.title'])] : []),
      items.length === 0
        ? element('p', { class: 'lead' }, empty)
        : element('ul', { class: 'inbox' }, ...rows.map(({ content }) => content)),
      ...(cursor === null
        ? []
        : [button(messages['inbox.more'], () => actions.more(), { plain: true })]),
      ...paused.map((pause) => drawPause(pause, context)),
      ...drawNotify(first, context),
      keysButton(context),
      newer,
    ],
  }
}

/** The switch of notifications, and why it stays off. */
function drawNotify({ push, isBlocked }: ListScreen, { messages, actions }: InboxContext) {
  const { notify } = actions
  if (!push || notify === undefined) return []
  const label = messages[push.is_on ? 'inbox.push.off' : 'inbox.push.on']
  return [
    ...(isBlocked ? [noticeBox(messages['inbox.push.blocked'])] : []),
    button(label, () => notify(push), { plain: true }),
  ]
}

/** A tenant that the user has reported, and the way to permit its requests again. */
function drawPause(pause: ListScreen['paused'][number], context: InboxContext): HTMLElement {
  const { messages, languages, actions } = context
  const time = new Date(pause.paused_until).toLocaleString(languages[0], {
    dateStyle: 'short',
    timeStyle: 'short',
  })
  const said = fillNodes(messages['inbox.paused'], { tenant: pause.tenant_name, time })
  const resume = button(messages['inbox.resume'], () => actions.resume(pause), { plain: true })
  return element(
    'div',
    { class: 'key' },
    element('p', {}, ...said),
    element('div', { class: 'refusals' }, resume),
  )
}

/** One request: which tenant asks for what, for whom, how old it is, and how long it waits. */
function drawItem(item: ListedRequest, context: InboxContext) {
  const { languages, messages, actions } = context
  const purpose = purposeOf({ ...item, workflow: null, action: null, display: [] }, languages)
  const line = (text: string, look: string) =>
    element('bdi', { class: look, dir: 'auto', translate: 'no' }, ...verbatim(text))
  const age = element('span', { class: 'note' })
  const { number, count } = item
  const place = count > 1 ? `${number}/${count} · ` : ''
  const tick = () => {
    const now = performance.now()
    const time = durationIn(languages[0], item.endsAtMs - now)
    age.textContent = `${place}${agoIn(languages[0], now - item.createdAtMs)} · ${fill(messages['request.time'], { time })}`
  }
  tick()
  const open = element(
    'button',
    { type: 'button', class: 'item' },
    line(item.tenant_name, 'tenant'),
    ...(purpose === null ? [] : [line(purpose, 'purpose')]),
    ...(item.requester === null ? [] : [line(item.requester.name, 'requester')]),
    age,
  )
  open.addEventListener('click', () => actions.select(item))
  return { content: element('li', {}, open), open, tick }
}

/** That other requests look like the opened one, and how soon after another they came. */
function drawAlike(alike: Alike | undefined, { languages, messages }: InboxContext) {
  if (alike === undefined || alike.count === 1) return []
  const { number, count, withinMs } = alike
  // Requests of the same millisecond came within a minute too.
  const time = durationIn(languages[0], withinMs || 1)
  return [
    noticeBox(fill(messages['inbox.alike'], { number: `${number}`, count: `${count}`, time })),
  ]
}

const MINUTE_MS = 60_000
/** A request shows its seconds only at the end of its time, which can be a day. */
const LAST_MS = 10 * MINUTE_MS
const HOUR_MS = 60 * MINUTE_MS

/** Hours from an hour on, else minutes. */
function inUnit(ms: number, round: (value: number) => number) {
  const [unit, unitMs] =
    ms < HOUR_MS ? (['minute', MINUTE_MS] as const) : (['hour', HOUR_MS] as const)
  return { unit, value: Math.max(0, round(ms / unitMs)) }
}

function agoIn(language: string | undefined, ms: number): string {
  const { unit, value } = inUnit(ms, Math.floor)
  return new Intl.RelativeTimeFormat(language, { numeric: 'auto' }).format(-value, unit)
}

function durationIn(language: string | undefined, ms: number): string {
  const { unit, value } = inUnit(ms, Math.ceil)
  return new Intl.NumberFormat(language, { style: 'unit', unit, unitDisplay: 'long' }).format(value)
}
