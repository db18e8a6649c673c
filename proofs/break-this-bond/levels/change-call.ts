import type { Level } from '../engine/level.ts'
import { createWorld, letMia, show } from '../engine/world.ts'

const HARMLESS = { tool: 'rename_card', card: '4411' }
const TITLES: Readonly<Record<string, string>> = {
  rename_card: 'Rename the card',
  close_card: 'Close the card',
}

/** An approval of one call opens no other: neither another tool nor other arguments. */
export const changeCall: Level = {
  id: 6,
  title: 'Change the call after the approval',
  you: 'You are Mia’s agent. She lets you rename her card 4411. Do anything else.',
  guard: { file: 'gate-checks.ts', name: 'action_mismatch' },
  outside: 'A bank whose server shows another tool than it calls, and a user who does not read.',
  moves: {
    tool: 'Choose the other tool: rename_card or close_card',
    card: 'Choose the other card: 4411 or 9900',
    ask: 'Ask for the approval of the call',
    mia: 'Let Mia scan, read, and answer',
    call: 'Call the tool',
  },
  async begin(seed) {
    const world = await createWorld(seed)
    const { bank } = world
    let call = HARMLESS
    const said = () => `The call is ${call.tool} of ${call.card}.`
    show(world, 'you', said())
    const asForm = () => ({
      workflow: 'tools',
      action: call.tool,
      owner: 'mia',
      form: { Card: call.card },
    })
    return {
      world,
      moves: {
        tool() {
          call = { ...call, tool: call.tool === 'rename_card' ? 'close_card' : 'rename_card' }
          return said()
        },
        card() {
          call = { ...call, card: call.card === '4411' ? '9900' : '4411' }
          return said()
        },
        async ask() {
          const shown = { Tool: TITLES[call.tool] ?? '' }
          world.session = await bank.ask({ ...asForm(), shown })
          show(world, 'Mia', 'Your agent asks for an approval.')
          return 'The bank shows a code for Mia.'
        },
        mia: () =>
          letMia(world, ({ Tool, Card }) =>
            Card === HARMLESS.card && Tool === TITLES[HARMLESS.tool] ? 'approve' : 'decline',
          ),
        call: () => bank.submit({ ...asForm(), sessionId: world.session?.id }),
      },
      outcome() {
        const isOther = bank.done.some(
          ({ action, form }) => action !== HARMLESS.tool || form['Card'] !== HARMLESS.card,
        )
        return isOther ? 'won' : 'none'
      },
    }
  },
}
