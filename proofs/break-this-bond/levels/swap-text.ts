import type { Level } from '../engine/level.ts'
import { createWorld, letMia, show } from '../engine/world.ts'

const MIAS = { To: 'Anna', Amount: 'EUR 90' }
const YOURS = { To: 'Mallory', Amount: 'EUR 9000' }
const ACTION = { workflow: 'transfer', action: 'send_money', owner: 'mia' }

/** A form that was changed after its text was shown does not pass the gate. */
export const swapText: Level = {
  id: 2,
  title: 'Swap the text after it was shown',
  you: 'You are a script in Mia’s browser. Have the bank send money to you.',
  guard: { file: 'gate-checks.ts', name: 'context_mismatch' },
  outside: 'A user who does not read what the phone shows. Mia reads.',
  moves: {
    edit: 'Change the form to EUR 9000 to Mallory, or back',
    show: 'Ask for the approval of the form',
    mia: 'Let Mia scan, read, and answer',
    submit: 'Submit the form',
  },
  async begin(seed) {
    const world = await createWorld(seed)
    const { bank } = world
    let form = MIAS
    const said = () => `The form says ${form.Amount} to ${form.To}.`
    show(world, 'you', said())
    return {
      world,
      moves: {
        edit() {
          form = form === MIAS ? YOURS : MIAS
          return said()
        },
        async show() {
          world.session = await bank.ask({ ...ACTION, form })
          return show(world, 'Mia', 'The page shows a code.')
        },
        // She declines what she has not asked for.
        mia: () => letMia(world, ({ To }) => (To === MIAS.To ? 'approve' : 'decline')),
        submit: () => bank.submit({ ...ACTION, form, sessionId: world.session?.id }),
      },
      outcome: () => (bank.done.some((done) => done.form === YOURS) ? 'won' : 'none'),
    }
  },
}
