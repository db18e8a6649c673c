import type { ProblemKind } from '../problem.ts'
import type { ProblemScreen } from '../screen.ts'
import { element } from './dom.ts'
import { button, type DrawingContext, type DrawnScreen, footer, statement } from './draw-screen.ts'
import { fillNodes } from './fill.ts'

const CAN_RETRY: ReadonlySet<ProblemKind> = new Set([
  'passkey_missing',
  'offline',
  'busy',
  'unexpected',
])
const CAN_SET_UP_AGAIN: ReadonlySet<ProblemKind> = new Set(['phone_unknown', 'passkey_missing'])

/** What went wrong, and the way on. */
export function drawProblem(
  { problem, need, requestId }: ProblemScreen,
  { messages, onChoice }: DrawingContext,
): DrawnScreen {
  const actions: Node[] = []
  const act = (text: string, choose: () => void) =>
    actions.push(button(text, choose, { plain: actions.length > 0 }))
  if (CAN_RETRY.has(problem)) act(messages['action.retry'], () => onChoice('retry'))
  if (CAN_SET_UP_AGAIN.has(problem)) act(messages['setup.again'], () => onChoice('set_up_again'))
  if (problem === 'app_required') {
    act(messages['action.decline'], () => onChoice('decline'))
    act(messages['action.report'], () => onChoice('report'))
  }
  const reference =
    requestId === null
      ? []
      : [
          element(
            'p',
            { class: 'note' },
            ...fillNodes(messages['problem.reference'], { id: requestId }),
          ),
        ]
  const title = messages[`problem.${problem}.title`]
  const body = messages[`problem.${problem}.body`]
  const symbol = ['mark', 'warn'] as const
  return need === null
    ? statement({ symbol, title, body: [body] }, ...reference, footer(...actions))
    : statement(
        { symbol, title, body: [messages[`need.${need}`]] },
        element('p', { class: 'lead' }, body),
        ...reference,
        footer(...actions),
      )
}
