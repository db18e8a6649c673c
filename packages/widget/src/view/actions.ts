import type { Messages } from '../messages/messages.ts'
import type { Screen } from '../screen.ts'
import { toneOf } from './badge.ts'
import { element } from './dom.ts'

/** What the user can do in the widget, besides scanning. */
export interface Handlers {
  readonly cancel: () => void
  /** Undefined: the page offers no further attempt. */
  readonly retry: (() => void) | undefined
}

/** The buttons of the widget. */
export interface ActionButtons {
  readonly cancel: HTMLButtonElement
  readonly retry: HTMLButtonElement
  /** Shows the buttons that the screen offers. */
  readonly update: (screen: Screen, messages: Messages) => void
}

/** The screens on which another attempt would end the same way. */
const FINAL = /^(unexpected|not_set_up|in_review)$/

/** Creates the buttons. */
export function actionButtons(handlers: Handlers): ActionButtons {
  const cancel = element('button', { class: 'link' })
  const retry = element('button', { class: 'button retry' })
  cancel.addEventListener('click', () => {
    // The response of the service follows. A second request would change nothing. A button that is
    // `disabled` would lose the focus.
    if (cancel.ariaDisabled) return
    cancel.ariaDisabled = 'true'
    handlers.cancel()
  })
  retry.addEventListener('click', () => handlers.retry?.())
  return {
    cancel,
    retry,
    update({ name }, messages) {
      cancel.textContent = messages.cancel
      retry.textContent = name === 'expired' ? messages.newCode : messages.again
      const tone = toneOf(name)
      cancel.hidden = tone !== 'busy'
      retry.hidden = !handlers.retry || tone === 'busy' || tone === 'good' || FINAL.test(name)
    },
  }
}
