import type { BondRequest, Setup } from '../arguments.ts'
import type { BondOutcome } from '../outcome.ts'
import { loadPulse } from './load-pulse.ts'
import { nameContainer } from './name-container.ts'

/** A server that renders the page has no elements. There the class exists, but does nothing. */
const Base = (globalThis as { HTMLElement?: typeof HTMLElement }).HTMLElement ?? (Object as never)

/**
 * `<pulse-bond>`: the widget as a custom element. It must be in the document itself, not in the
 * shadow root of another element.
 *
 * | attribute | meaning |
 * |---|---|
 * | `origin` | the origin of the service |
 * | `publishable-key`, `workflow`, `session-endpoint`, `session-endpoint-credentials` | as in `Pulse.init` |
 * | `action` | the protected action |
 * | `version`, `integrity` | pin the script, as in `loadPulse` |
 *
 * @example const { state, sessionId } = await document.querySelector('pulse-bond').requireBond()
 */
export class PulseBondElement extends Base {
  /** Further options of `Pulse.init`, such as `appearance`. A page can set it before this runs. */
  setup: Partial<Setup> = (this as { readonly setup?: Partial<Setup> }).setup ?? {}

  /** Reserves the box, so that the page does not move when the widget appears. */
  connectedCallback(): void {
    if (this.shadowRoot) return
    const box = new CSSStyleSheet()
    box.replaceSync(':host{display:block;min-height:168px;max-width:360px}')
    this.attachShadow({ mode: 'open' }).adoptedStyleSheets = [box]
  }

  /**
   * Loads the script if necessary, and requests a bond in this element.
   *
   * @throws PulseLoadError or PulseError as a rejection
   */
  async requireBond(request: Partial<BondRequest> = {}): Promise<BondOutcome> {
    const attribute = (name: string) => this.getAttribute(name) ?? undefined
    const pulse = await loadPulse({
      origin: attribute('origin') ?? '',
      version: attribute('version'),
      integrity: attribute('integrity'),
    })
    pulse.init({
      ...this.setup,
      publishableKey: attribute('publishable-key') ?? '',
      workflow: attribute('workflow') ?? '',
      sessionEndpoint: attribute('session-endpoint'),
      // Pulse.init rejects any other word.
      sessionEndpointCredentials: (attribute('session-endpoint-credentials') ??
        this.setup.sessionEndpointCredentials) as Setup['sessionEndpointCredentials'],
      containerId: nameContainer(this),
    })
    return pulse.requireBond({ action: attribute('action') ?? '', ...request })
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'pulse-bond': PulseBondElement
  }
}

if (typeof customElements !== 'undefined' && !customElements.get('pulse-bond'))
  customElements.define('pulse-bond', PulseBondElement)
