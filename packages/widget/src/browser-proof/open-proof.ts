import { GET_SESSION, promptFailureOf, PROVE_BROWSER } from '@bonded/contract'
import type { ProofTools } from '../bond.ts'
import type { Performers } from '../reducer.ts'
import { storeSecret } from '../session/browser-secret.ts'
import type { LoadedMessages } from '../messages/load.ts'
import type { SessionResponse } from '../session/get-session.ts'
import type { SessionAddress } from '../session/snapshot.ts'
import { hasPasskeys, mayUsePasskeysOf } from './ability.ts'
import { askBrowser } from './ask-browser.ts'
import { confirmButton } from './button.ts'
import type { ProofReport } from './report.ts'
import {
  type FrameMessage,
  INITIAL_PROOF,
  type ProofEffect,
  type ProofEvent,
  type ProofState,
  reduceProof,
  type Way,
} from './proof-reducer.ts'
import { challengeOf, commitmentIn, isOfPhone, newSecret, readRequest } from './request.ts'
import { accentOf, frameUrlOf, type ServiceFrame, serviceFrame, themeOf } from './service-frame.ts'
import { loadProofTexts } from './texts.ts'

/** What the proof knows of the widget, and what it tells the widget. */
export interface ProofSetup extends ProofTools {
  /** The language that the widget speaks. */
  readonly language: Promise<LoadedMessages>
  readonly subject: {
    readonly address: SessionAddress
    readonly publishableKey: string
    /** Aborted when the session no longer waits for this proof. */
    readonly signal: AbortSignal
  }
  /** The secret of this tab for this session and its commitment, where it has one. */
  readonly secret: string | undefined
  /** Gives the watch a response of the service. */
  readonly take: (response: SessionResponse) => void
  readonly fail: (cause: unknown) => void
  readonly dispatch: (name: 'proof', report: ProofReport) => void
}

const BUSY = { name: 'evaluating' } as const
const BLOCKED =
  "The service's frame did not load, or may not use passkeys. Check the tenant's origins, and this page's frame-src and Permissions-Policy."

/**
 * The proof of the browser (protocol 14): reads what the service asks for, and shows the button, or
 * the service's frame where the page itself may not use the passkeys. The session's own state then
 * says whether it is bonded.
 */
// oxlint-disable-next-line max-lines-per-function -- a list: an entry for each effect
export async function openProof(setup: ProofSetup): Promise<void> {
  const { take, ask, language } = setup
  let { secret } = setup
  const { address, publishableKey, signal } = setup.subject
  const subject = { ...setup.subject, wait: null }
  const report = (given: ProofReport) => setup.dispatch('proof', given)
  const texts = await loadProofTexts(setup)
  if (signal.aborted) return
  const button = confirmButton(texts, () => dispatch('confirm'))
  const screens = {
    frame: { name: 'browser_frame', text: texts.browser },
    ready: { name: 'browser', text: texts.browser },
    again: { name: 'browser_again', text: texts.browser_again },
    rejected: {
      name: 'browser_again',
      text: { ...texts.browser_again, body: texts.wrongPasskey },
    },
  } as const
  let prove = () => Promise.resolve('')
  let commitment = ''
  let url: URL | undefined
  let frame: ServiceFrame | undefined
  const open = async (way: Way) => {
    const response = await ask(GET_SESSION, subject)
    if (response.kind !== 'snapshot') return 'lost'
    take(response)
    const { browser } = response.view
    if (!browser) return 'lost'
    if (way === 'none' || !hasPasskeys()) return 'unsupported'
    secret ??= await newSecret()
    storeSecret(address.id, secret)
    commitment = commitmentIn(secret)
    const request = way === 'page' ? readRequest(browser) : undefined
    if (request && (await mayUsePasskeysOf(request.rpId))) {
      const challenge = await challengeOf(response.view, commitment)
      prove = async () => {
        const assertion = await askBrowser(request, { challenge, signal })
        return (await isOfPhone(request, { session: address.id, credential_id: assertion.id }))
          ? JSON.stringify({ commitment, assertion })
          : ''
      }
      return 'ready'
    }
    url = frameUrlOf(browser, address)
    // The frame works only directly in the page that the user visits.
    return !url ? 'unsupported' : top === self ? 'framed' : 'blocked'
  }
  const send = async (body: string) => {
    const response = await ask(PROVE_BROWSER, { ...subject, body })
    if (response.kind === 'snapshot') take(response)
    const isLost = response.kind === 'later' || response.kind === 'blocked'
    return response.kind === 'snapshot' ? 'accepted' : isLost ? 'lost' : 'rejected'
  }
  const performers: Performers<ProofEffect> = {
    read: (way) =>
      void open(way).then(
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
          dispatch('refused', promptFailureOf((cause as Error).name) === 'final')
        },
      )
    },
    send: (body) => void send(body).then((result) => dispatch('sent', result)),
    start() {
      void language.then(({ tag }) =>
        frame?.start({
          session_id: address.id,
          watch_token: address.watchToken,
          publishable_key: publishableKey,
          commitment,
          language: tag,
          theme: themeOf(frame.node),
          accent: accentOf(frame.node),
        }),
      )
    },
    show(screen) {
      button.ariaDisabled = null
      if (screen === 'frame') {
        const hear = (message: FrameMessage) => dispatch('frame', message)
        frame = serviceFrame(url!, { title: texts.confirm, signal, hear })
      }
      const stage = screen === 'frame' ? frame!.node : button
      report({ screen: screen === 'busy' ? BUSY : { ...screens[screen], stage }, secret })
      // A user who works in the widget continues in its button or frame.
      if ((stage.getRootNode() as ShadowRoot).activeElement) stage.focus()
    },
    giveUp(reason) {
      // The phone need not wait for a proof that cannot come.
      void setup.cancelSession(subject)
      const isBlocked = reason === 'browser_frame_blocked'
      if (isBlocked) console.error(`Pulse: ${reason}. ${BLOCKED}`, url?.href)
      report({
        screen: { name: 'not_set_up', text: isBlocked ? undefined : texts.browser_unsupported },
        reason,
      })
    },
  }
  const dispatch = setup.runReducer<ProofState, ProofEvent, ProofEffect>(
    reduceProof,
    INITIAL_PROOF,
    performers,
    setup.fail,
  )
  signal.addEventListener('abort', () => dispatch('close'))
  dispatch('open')
}
