import type { SetupScreen } from '../screen.ts'
import { element } from './dom.ts'
import { copyButton, drawLink } from './draw-problem.ts'
import { drawPage } from './draw-request.ts'
import {
  button,
  type DrawingContext,
  type DrawnScreen,
  footer,
  headingOf,
  noticeBox,
} from './parts.ts'
import { fill, fillNodes } from './fill.ts'

/** Who asks, and for what the phone creates a passkey. The request follows. */
export function drawSetup(
  { invitation, link, appLink, recovery, hasNotRecovered }: SetupScreen,
  { messages, onChoice, motion }: DrawingContext,
): DrawnScreen {
  const { tenant_name: tenant, logo, requesting_origin } = invitation
  const heading = headingOf(fillNodes(messages['request.title'], { tenant }))
  const isOnly = recovery === 'only'
  // The passkey may be in another browser of this phone, if this one is inside an app.
  const isRefused = isOnly && hasNotRecovered
  const recover = button(messages['setup.recover'], () => onChoice('recover'), { plain: !isOnly })
  const actions: Node[] = [
    isOnly ? recover : button(messages['setup.title'], () => onChoice('set_up')),
    ...(recovery === 'offered' ? [recover] : []),
    ...(isRefused ? [copyButton(link, messages['action.copy'], { plain: true })] : []),
  ]
  if (appLink !== null)
    actions.push(element('a', { class: 'button plain', href: appLink }, messages['setup.app']))
  return {
    title: fill(messages['request.title'], { tenant }),
    heading,
    content: [
      ...(logo === null ? [] : [drawLogo(logo)]),
      heading,
      // In view also on a small phone, above the actions.
      ...(hasNotRecovered ? [noticeBox(messages['setup.recover.failed'])] : []),
      ...(requesting_origin === null ? [] : [drawPage(requesting_origin, messages)]),
      element('p', {}, messages[isOnly ? 'setup.known' : 'setup.passkey']),
      ...(isRefused
        ? [element('p', {}, messages['problem.phone_not_accepted.body']), drawLink(link)]
        : []),
      // The browser asks for the sensors at the tap, so the page says why.
      ...(motion.access() === 'needs_permission'
        ? [element('p', {}, messages['motion.note'])]
        : []),
      footer(...actions),
    ],
  }
}

/** The tenant's logo. Its name is in the heading. */
function drawLogo(address: string): HTMLImageElement {
  const logo = element('img', { class: 'logo', src: address, alt: '' })
  logo.addEventListener('error', () => logo.remove())
  return logo
}
