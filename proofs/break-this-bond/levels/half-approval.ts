import { registeredPhone } from '../engine/phone.ts'
import type { Level, Outcome } from '../engine/level.ts'
import { answerAs, createWorld, show } from '../engine/world.ts'

const PAYMENT = {
  workflow: 'payments',
  action: 'release',
  owner: 'treasury',
  form: { To: 'Mallory', Amount: 'EUR 900,000' },
}

/** Half of an approval is none, and the bank does not let one user give both halves. */
export const halfApproval: Level = {
  id: 7,
  title: 'Approve with one of two people',
  you: 'You and Mia release the payments of the bank, and each one needs both of you. Release a payment to Mallory without her.',
  guard: { file: 'quorum-checks.ts', name: 'too_few_approvals' },
  remains:
    'One human with two accounts, each with a browser of its own, is two people for the bank. It must know its people, and not ask one of them twice.',
  moves: {
    choose: 'Choose whom to ask: you and Mia, your two accounts, or you alone',
    ask: 'Ask for the approval of the payment',
    own: 'Approve in each browser of yours that is asked',
    mia: 'Let Mia open her inbox, read, and answer',
    release: 'Release the payment',
  },
  async begin(seed) {
    const world = await createWorld(seed, { isKnown: true })
    const { bank, game, mia, own } = world
    const second = await registeredPhone(game, {
      party: 'your second account',
      format: 'software',
      isKnown: true,
    })
    const choices = [
      { name: 'you and Mia', phones: [own, mia] },
      { name: 'your two accounts', phones: [own, second] },
      { name: 'you alone', phones: [own] },
    ]
    let chosen = 0
    let asked: (typeof choices)[number] | undefined
    let outcome: Outcome = 'none'
    return {
      world,
      moves: {
        choose() {
          chosen = (chosen + 1) % choices.length
          return `You will ask ${choices[chosen]?.name}.`
        },
        async ask() {
          asked = choices[chosen]
          const refs = (asked?.phones ?? []).map(({ subjectRef }) => subjectRef)
          const rejected = await bank.askPeople(PAYMENT, refs)
          if (rejected === undefined) return `The bank asks ${asked?.name}.`
          world.stopped.push(rejected)
          asked = undefined
          return show(world, 'bank', `The service rejects: ${rejected}.`)
        },
        async own() {
          const mine = (asked?.phones ?? []).filter((phone) => phone !== mia)
          if (mine.length === 0) return 'Nothing waits in your inbox.'
          const answers: string[] = []
          for (const phone of mine) {
            const opened = await phone.openLatest()
            answers.push(opened === 'pending' ? await phone.approve() : opened)
          }
          return answers.join(', ')
        },
        // She declines what she has not asked for.
        mia: async () => answerAs(world, { said: await mia.openLatest(), answer: () => 'decline' }),
        async release() {
          const said = await bank.release(PAYMENT)
          if (said === 'accept') outcome = asked?.phones.includes(mia) ? 'won' : 'remains'
          return said
        },
      },
      outcome: () => outcome,
    }
  },
}
