import type { Level, Outcome } from '../engine/level.ts'
import { createWorld, letMia, shownCode } from '../engine/world.ts'

const ACTION = { workflow: 'sign_in', action: 'sign_in', owner: 'mia', form: { Account: 'Mia' } }

/** A bank that knows its user rejects the approval of another phone, and not a relayed one. */
export const relayCode: Level = {
  id: 3,
  title: 'Relay a code to a victim',
  you: 'You know Mia’s password, and have a phone of your own. Sign in to her account.',
  guard: { file: 'gate-checks.ts', name: 'subject_mismatch' },
  remains:
    'Mia scans your code on a page that looks like the bank’s, and approves. The plain workflow does not stop a relay: require the proof of the browser.',
  moves: {
    open: 'Open the bank’s sign-in in your browser',
    relay: 'Show your code to Mia on your own page, and let her approve',
    own: 'Approve with your own phone',
    wait: 'Wait a minute',
    submit: 'Sign in',
  },
  async begin(seed) {
    const world = await createWorld(seed)
    const { bank, game, mia, own } = world
    let by: typeof mia | undefined
    let outcome: Outcome = 'none'
    return {
      world,
      moves: {
        async open() {
          world.session = await bank.ask(ACTION)
          by = undefined
          return 'The page of the bank shows a code.'
        },
        async relay() {
          // She believes that she signs in, which is what her phone shows.
          const said = await letMia(world, () => 'approve')
          if (mia.opened?.id === world.session?.id) by = mia
          return said
        },
        async own() {
          const code = await shownCode(world)
          if (code === undefined) return 'There is no code.'
          const said = await own.scan(code)
          if (said !== 'pending') return said
          by = own
          return own.approve()
        },
        wait() {
          game.wait(60_000)
          return 'A minute passes.'
        },
        async submit() {
          const sessionId = world.session?.id
          const expected = { subject_ref: mia.subjectRef }
          const said = await bank.submit({ ...ACTION, sessionId, expected })
          if (said === 'accept') outcome = by === own ? 'won' : 'remains'
          return said
        },
      },
      outcome: () => outcome,
    }
  },
}
