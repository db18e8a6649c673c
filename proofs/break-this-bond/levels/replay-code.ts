import type { Level } from '../engine/level.ts'
import { createWorld, show, shownCode } from '../engine/world.ts'

/** The time after which a page shows another code. */
const CODE_MS = 60_000
/** How long a code is accepted after it was first shown. */
const ACCEPTED_MS = 2 * CODE_MS

/** A photograph of a code opens the session no longer than the code is accepted. */
export const replayCode: Level = {
  id: 1,
  title: 'Replay a code',
  you: 'You stand behind Mia and photograph the code on her screen. Approve her transfer with your own phone, after the code has gone.',
  guard: { file: 'checks.ts', name: 'nonce' },
  remains:
    'A photograph that is used while the page still shows the code opens a session that names no user.',
  moves: {
    photograph: 'Photograph the code on Mia’s screen',
    wait: 'Wait a minute',
    scan: 'Scan the photograph',
    approve: 'Approve on your phone',
  },
  async begin(seed) {
    const world = await createWorld(seed)
    const { bank, game, own } = world
    const form = { To: 'Anna', Amount: 'EUR 90' }
    world.session = await bank.ask({
      workflow: 'transfer',
      action: 'send_money',
      owner: 'mia',
      form,
    })
    const { id } = world.session
    const began = game.service.clock.now()
    show(world, 'Mia', 'The page of the bank shows a code: EUR 90 to Anna.')
    let photograph: { readonly code: string; readonly until: number } | undefined
    let wasFresh = false
    return {
      world,
      moves: {
        async photograph() {
          const code = (await shownCode(world)) ?? ''
          const index = Math.floor((game.service.clock.now() - began) / CODE_MS)
          photograph = { code, until: began + index * CODE_MS + ACCEPTED_MS }
          return 'You have the code.'
        },
        wait() {
          game.wait(CODE_MS)
          return show(world, 'Mia', 'A minute passes. The page shows another code.')
        },
        async scan() {
          if (photograph === undefined) return 'You have no photograph.'
          const said = await own.scan(photograph.code)
          if (said === 'pending') wasFresh ||= game.service.clock.now() < photograph.until
          return said
        },
        approve: () => own.approve(),
      },
      async outcome() {
        if ((await bank.read(id)).state !== 'bonded') return 'none'
        return wasFresh ? 'remains' : 'won'
      },
    }
  },
}
