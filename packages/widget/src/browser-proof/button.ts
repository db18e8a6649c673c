import { drawing, element } from '../view/dom.ts'
import type { ProofTexts } from './texts.ts'

/** A screen on a stand, in a box of 24 by 24. */
const COMPUTER =
  'M4.75 4.5h14.5a1.5 1.5 0 0 1 1.5 1.5v8.5a1.5 1.5 0 0 1-1.5 1.5H4.75a1.5 1.5 0 0 1-1.5-1.5V6a1.5 1.5 0 0 1 1.5-1.5zM8.5 19.75h7M12 16v3.75'

/** The button that takes the place of the QR code. */
export function confirmButton(texts: ProofTexts, confirm: () => void): HTMLButtonElement {
  const icon = drawing(
    'svg',
    { viewBox: '0 0 24 24', 'aria-hidden': 'true' },
    drawing('path', { d: COMPUTER }),
  )
  // On the phone itself, its own passkey answers in this tab.
  const label = matchMedia('(pointer: coarse)').matches ? texts.confirmTouch : texts.confirm
  const button = element('button', { class: 'button here' }, icon, element('span', {}, label))
  button.addEventListener('click', confirm)
  return button
}
