import { GET_SESSION, PROVE_BROWSER } from '@bonded/contract'
import type { LegTools } from '../bond.ts'
import { storeSecret } from '../session/browser-secret.ts'
import type { LoadedMessages } from '../messages/load.ts'
import type { SessionResponse } from '../session/get-session.ts'
import type { SessionAddress } from '../session/snapshot.ts'
import { canProve } from './ability.ts'
import { askBrowser } from './ask-browser.ts'
import { confirmButton } from './button.ts'
import type { LegReport } from './leg.ts'
import {
  INITIAL_LEG,
  type LegEffect,
  type LegEvent,
  type LegState,
  reduceLeg,
} from './leg-reducer.ts'
import { challengeOf, commitmentOf, drawSecret, readRequest } from './request.ts'
import { loadLegTexts } from './texts.ts'

/** What the proof knows of the widget, and what it tells the widget. */
export interface LegSetup extends LegTools {
  /** The language that the widget speaks. */
  readonly language: Promise<LoadedMessages>
  readonly subject: {
    readonly address: SessionAddress
    readonly publishableKey: string
    /** Aborted when the session no longer waits for this proof. */
    readonly signal: AbortSignal
  }
  /** The secret of this tab for this session, where it has one. */
  readonly secret: string | undefined
  /** Gives the watch a response of the service. */
  readonly take: (response: SessionResponse) => void
  readonly dispatch: (name: 'leg', report: LegReport) => void
}

/**
 * The proof of the browser (protocol 14): reads what the service asks for, shows the button, and
 * sends what the browser's prompt gives. The session's own state then says whether it is bonded.
 */
export async function openLeg(setup: LegSetup): Promise<void> {
  const { take, ask, secret = drawSecret() } = setup
  const { address, signal } = setup.subject
  const subject = { ...setup.subject, wait: null }
  const report = (given: LegReport) => setup.dispatch('leg', given)
  const texts = await loadLegTexts(setup)
  if (signal.aborted) return
  const button = confirmButton(texts, () => dispatch('confirm'))
  const screens = {
    busy: { name: 'evaluating' },
    ready: { name: 'browser', text: texts.browser, stage: button },
    again: { name: 'browser_again', text: texts.browser_again, stage: button },
  } as const
  let prove = () => Promise.resolve('')
  const open = async () => {
    const response = await ask(GET_SESSION, subject)
    if (response.kind !== 'snapshot') return 'lost'
    take(response)
    const { browser } = response.view
    if (!browser) return 'lost'
    const request = readRequest(browser)
    if (!request || !(await canProve(request.rpId))) return 'unsupported'
    storeSecret(address.id, secret)
    const commitment = await commitmentOf(secret)
    const challenge = await challengeOf(response.view, commitment)
    prove = async () =>
      JSON.stringify({ commitment, assertion: await askBrowser(request, { challenge, signal }) })
    return 'ready'
  }
  const send = async (body: string) => {
    const response = await ask(PROVE_BROWSER, { ...subject, body })
    if (response.kind === 'snapshot') take(response)
    const isLost = response.kind === 'later' || response.kind === 'blocked'
    return response.kind === 'snapshot' ? 'accepted' : isLost ? 'lost' : 'rejected'
  }
  const dispatch = setup.runMachine<LegState, LegEvent, LegEffect>(reduceLeg, INITIAL_LEG, {
    read: () =>
      void open().then(
        (result) => dispatch('opened', result),
        () => dispatch('opened', 'unsupported'),
      ),
    prove() {
      // A button that is `disabled` would lose the focus.
      button.ariaDisabled = 'true'
      prove().then(
        (proof) => dispatch('proved', proof),
        (cause: unknown) => {
          if (!signal.aborted) console.warn('Pulse: the browser gave no proof.', cause)
          dispatch('refused', isFinal(cause))
        },
      )
    },
    send: (body) => void send(body).then((result) => dispatch('sent', result)),
    show(screen) {
      button.ariaDisabled = null
      report({ screen: screens[screen], secret })
      // A user who works in the widget goes on with the button.
      if ((button.getRootNode() as ShadowRoot).activeElement) button.focus()
    },
    giveUp() {
      // The phone need not wait for a proof that cannot come.
      void setup.cancelSession(subject)
      report({
        screen: { name: 'not_set_up', text: texts.browser_unsupported },
        reason: 'browser_unsupported',
      })
    },
  })
  signal.addEventListener('abort', () => dispatch('close'))
  dispatch('open')
}

/** Whether this browser cannot prove, as opposed to a user who did not want to, or was too slow. */
function isFinal(cause: unknown): boolean {
  return /^(Security|NotSupported|Type)Error$/.test((cause as Error).name)
}
