import type { CreatedSession } from '@bonded/contract'
import { Bank, type Form } from './bank.ts'
import { type Phone, registeredPhone } from './phone.ts'
import { type GameService, startService } from './service.ts'

/** The parties of a level. */
export type Party = 'you' | 'Mia' | 'bank'

/** A line in the view of a party. */
export interface Line {
  readonly party: Party
  readonly text: string
}

/** The parties and what they have seen. Every game has its own. */
export interface World {
  readonly game: GameService
  readonly bank: Bank
  /** The victim's phone, and the visitor's. */
  readonly mia: Phone
  readonly own: Phone
  readonly lines: Line[]
  /** What has stopped the visitor beside the gate and the checks of the service. */
  readonly stopped: string[]
  /** The request that the level is about, once it exists. */
  session: CreatedSession | undefined
}

/** Creates the parties of a game. */
export async function createWorld(
  seed: string,
  {
    format = 'software',
    isKnown = false,
  }: { readonly format?: 'software' | 'webauthn'; readonly isKnown?: boolean } = {},
): Promise<World> {
  const game = startService(seed)
  return {
    game,
    bank: new Bank(game),
    mia: await registeredPhone(game, { party: 'Mia', format, isKnown }),
    own: await registeredPhone(game, { party: 'you', format, isKnown }),
    lines: [],
    stopped: [],
    session: undefined,
  }
}

/** Adds a line to the view of a party. @returns its text */
export function show({ lines }: Pick<World, 'lines'>, party: Party, text: string): string {
  lines.push({ party, text })
  return text
}

/** The code that the page of the session shows now. Undefined before it exists. */
export async function shownCode({ bank, session }: World): Promise<string | undefined> {
  return session && (await bank.read(session.id)).universal_link
}

/** Mia scans the code that the page shows, and answers what her phone shows. @returns her answer */
export async function letMia(
  world: World,
  answer: (display: Form) => 'approve' | 'decline',
): Promise<string> {
  const { mia } = world
  const code = await shownCode(world)
  if (code === undefined) return 'There is no code.'
  return answerAs(world, { said: await mia.scan(code), answer })
}

/** Mia answers what her phone shows, once it has opened a request. @returns her answer */
export async function answerAs(
  world: World,
  of: {
    readonly said: string
    readonly answer: (display: Form) => 'approve' | 'decline'
  },
): Promise<string> {
  const { said, answer } = of
  const { mia } = world
  if (said !== 'pending') return show(world, 'Mia', said)
  show(world, 'Mia', mia.screen)
  const display = mia.opened?.context?.display ?? []
  const chosen = answer(Object.fromEntries(display.map(({ label, value }) => [label, value])))
  return show(world, 'Mia', `Mia ${chosen}s: ${await mia[chosen]()}.`)
}

/** Lets Mia make a transfer, which the bank does. @returns the id of its session */
export async function letMiaTransfer(world: World, form: Form): Promise<string> {
  const { bank } = world
  const asked = { workflow: 'transfer', action: 'send_money', owner: 'mia', form }
  world.session = await bank.ask(asked)
  await letMia(world, () => 'approve')
  await bank.submit({ ...asked, sessionId: world.session.id })
  return world.session.id
}
