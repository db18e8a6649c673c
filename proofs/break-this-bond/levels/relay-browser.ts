import { browserPayload, encodeBase64url } from '@bonded/contract'
import { sha256 } from '@noble/hashes/sha2.js'
import { utf8ToBytes } from '@noble/hashes/utils.js'
import type { Level } from '../engine/level.ts'
import { BANK_ORIGIN, TENANT } from '../engine/service.ts'
import { createWorld, letMia, show, type World } from '../engine/world.ts'

const ACTION = { workflow: 'confirmed', action: 'sign_in', owner: 'mia', form: { Account: 'Mia' } }
/** A page of yours below the domain of the bank, where a browser offers the bank's passkeys. */
const YOUR_ORIGIN = 'https://prizes.bank.example'

/** The passkey of the phone confirms a sign-in only in the browser that submits it. */
export const relayBrowser: Level = {
  id: 4,
  title: 'Relay against the browser’s proof',
  you: `You know Mia’s password, and control ${YOUR_ORIGIN}. The bank requires the proof of the browser. Sign in to her account.`,
  guard: { file: 'client-data.ts', name: 'client_data_origin' },
  outside:
    'A script on the bank’s own page, and malware in Mia’s browser, which act as her browser does.',
  moves: {
    open: 'Open the bank’s sign-in in your browser',
    relay: 'Show your code to Mia, who approves it',
    lure: 'Ask Mia’s browser for her passkey on your page',
    prove: 'Send a proof: Mia’s if you have one, or your own',
    submit: 'Sign in',
  },
  async begin(seed) {
    const world = await createWorld(seed, { format: 'webauthn' })
    const { bank, game, mia, own } = world
    const secret = encodeBase64url(game.randomOf('browser').bytes())
    const commitment = encodeBase64url(sha256(utf8ToBytes(secret)))
    /** What a passkey must sign for your browser. */
    const challengeOf = (session_id: string) => {
      const { workflow, action } = ACTION
      const fields = { session_id, workflow, action, tenant_id: TENANT.id, commitment }
      return sha256(utf8ToBytes(browserPayload({ ...fields, origin: BANK_ORIGIN })))
    }
    let lured: object | undefined
    return {
      world,
      moves: {
        async open() {
          world.session = await bank.ask({ ...ACTION, subjectRef: mia.subjectRef })
          lured = undefined
          return 'The page of the bank shows a code.'
        },
        relay: () => letMia(world, () => 'approve'),
        lure() {
          if (world.session === undefined) return 'There is nothing to confirm.'
          lured = signed(mia, challengeOf(world.session.id), YOUR_ORIGIN)
          show(world, 'Mia', `Your browser asks for your passkey on ${YOUR_ORIGIN}.`)
          return 'Mia’s browser has signed for your page.'
        },
        async prove() {
          const { session } = world
          if (session === undefined) return 'There is nothing to confirm.'
          const assertion = lured ?? signed(own, challengeOf(session.id), BANK_ORIGIN)
          return bank.prove(session, { commitment, assertion })
        },
        submit: () =>
          bank.submit({
            ...ACTION,
            sessionId: world.session?.id,
            browserSecret: secret,
            expected: { browser: { origin: BANK_ORIGIN } },
          }),
      },
      outcome: () => (bank.done.length > 0 ? 'won' : 'none'),
    }
  },
}

/** A proof by the passkey of a phone, as the browser makes it for a page of this origin. */
function signed({ passkey }: World['mia'], challenge: Uint8Array, origin: string) {
  const { clientDataJSON, authenticatorData, signature } = passkey.answer(challenge, origin)
  return {
    id: passkey.id,
    type: 'public-key',
    response: {
      clientDataJSON: encodeBase64url(clientDataJSON),
      authenticatorData: encodeBase64url(authenticatorData),
      signature: encodeBase64url(signature),
    },
  }
}
