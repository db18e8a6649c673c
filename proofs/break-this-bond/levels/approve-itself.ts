import type { Level, Outcome } from '../engine/level.ts'
import { createWorld, show, shownCode } from '../engine/world.ts'

const CALL = {
  workflow: 'tools',
  action: 'close_card',
  owner: 'mia',
  form: { Card: '4411', Tool: 'Close the card' },
}

/** The phone of an agent cannot answer a request that names the user. */
export const approveItself: Level = {
  id: 5,
  title: 'Let the agent approve itself',
  you: 'You are Mia’s agent, with a phone of your own. Close her card without her.',
  guard: { file: 'checks.ts', name: 'subject_ref' },
  remains:
    'An agent that knows the PIN of Mia’s phone approves with it, and one that enrolls its own phone as her first one is taken for her.',
  moves: {
    enroll_mia: 'Let Mia enroll her phone',
    enroll_own: 'Enroll your own phone as hers',
    own: 'Ask Mia, and answer with your own phone',
    pin: 'Ask Mia, and answer with her phone by its PIN',
    call: 'Call the tool',
  },
  async begin(seed) {
    const world = await createWorld(seed)
    const { bank, mia, own } = world
    let enrolled: typeof mia | undefined
    let by: typeof mia | undefined
    let outcome: Outcome = 'none'
    const enroll = (phone: typeof mia, whose: string) => {
      if (enrolled !== undefined) return 'The account has a phone already.'
      enrolled = phone
      return show(world, 'bank', `The first phone of the account is ${whose}.`)
    }
    const askAndApprove = async (phone: typeof mia) => {
      if (enrolled === undefined) return 'The account has no phone to ask.'
      world.session = await bank.ask({ ...CALL, subjectRef: enrolled.subjectRef })
      by = undefined
      const said = await phone.scan((await shownCode(world)) ?? '')
      const approved = said === 'pending' ? await phone.approve() : said
      if (approved === 'bonded') by = phone
      return approved
    }
    return {
      world,
      moves: {
        enroll_mia: () => enroll(mia, 'Mia’s'),
        enroll_own: () => enroll(own, 'the one of Mia’s agent'),
        own: () => askAndApprove(own),
        pin: () => askAndApprove(mia),
        async call() {
          const said = await bank.submit({ ...CALL, sessionId: world.session?.id })
          if (said === 'accept') outcome = by === own && enrolled === mia ? 'won' : 'remains'
          return said
        },
      },
      outcome: () => outcome,
    }
  },
}
