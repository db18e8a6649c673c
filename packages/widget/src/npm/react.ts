import {
  createElement,
  type CSSProperties,
  type DetailedHTMLProps,
  type HTMLAttributes,
  type ReactElement,
  useEffect,
  useRef,
} from 'react'
import type { BondRequest, Setup } from '../arguments.ts'
import type { BondOutcome } from '../outcome.ts'
import { type LoadOptions, loadPulse } from './load-pulse.ts'
import type { PulseBondElement } from './element.ts'
import { nameContainer } from './name-container.ts'

/** The attributes of `<pulse-bond>` in JSX. */
interface PulseBondAttributes
  extends DetailedHTMLProps<HTMLAttributes<PulseBondElement>, PulseBondElement> {
  readonly origin: string
  readonly 'publishable-key': string
  readonly workflow: string
  readonly action?: string
  readonly 'session-endpoint'?: string
  readonly 'session-endpoint-credentials'?: Setup['sessionEndpointCredentials']
  readonly version?: string
  readonly integrity?: string
  /** A property that React sets from version 19 on. */
  readonly setup?: Partial<Setup>
}

declare module 'react' {
  namespace JSX {
    interface IntrinsicElements {
      'pulse-bond': PulseBondAttributes
    }
  }
}

/**
 * The options of `loadPulse`, `Pulse.init` and `Pulse.requireBond`, and what the page does next.
 */
export interface PulseBondProps extends LoadOptions, Omit<Setup, 'containerId'>, BondRequest {
  /** Receives the outcome once. Your backend then verifies the session before it acts. */
  readonly onOutcome: (outcome: BondOutcome) => void
  /** Receives a `PulseLoadError` or a `PulseError`. By default it is logged. */
  readonly onError?: ((error: unknown) => void) | undefined
  readonly className?: string | undefined
  /** Styles of the container, in addition to the reserved box. */
  readonly style?: CSSProperties | undefined
}

const RESERVED_BOX = { display: 'block', minHeight: 168, maxWidth: 360 }

/**
 * The widget as a React component. It requests a bond when it is mounted, and a new one when an
 * option that the bond depends on changes. The double effects of `StrictMode` request one bond.
 *
 * @example <PulseBond origin={origin} publishableKey={key} workflow="credit_application"
 *   action="submit_application" sessionEndpoint="/bond-session" onOutcome={submit} />
 */
export function PulseBond(props: PulseBondProps): ReactElement {
  const { onOutcome, onError = console.error, className, style, ...bond } = props
  const container = useRef<HTMLDivElement>(null)
  // The values of the latest render. A new identity of an object or a callback starts no new bond.
  const latest = useRef({ bond, onOutcome, onError })
  useEffect(() => {
    latest.current = { bond, onOutcome, onError }
  })
  useEffect(() => {
    let isMounted = true
    const { onRetry } = latest.current.bond
    const ofLatest = {
      ...latest.current.bond,
      onRetry: onRetry && (() => latest.current.bond.onRetry?.()),
    }
    start(container.current!, ofLatest, () => isMounted).then(
      (outcome) => isMounted && outcome && latest.current.onOutcome(outcome),
      (error: unknown) => isMounted && latest.current.onError(error),
    )
    return () => {
      isMounted = false
    }
  }, [textOf(bond)])
  return createElement('div', { ref: container, className, style: { ...RESERVED_BOX, ...style } })
}

type BondProps = Omit<PulseBondProps, 'onOutcome' | 'onError' | 'className' | 'style'>

/** Tells two bonds apart. `Pulse` itself rejects a context that JSON cannot represent. */
function textOf(bond: BondProps): string {
  try {
    return JSON.stringify(bond)
  } catch {
    return 'context_invalid'
  }
}

/** The outcome; undefined when the component was unmounted before the script was there. */
async function start(
  container: HTMLElement,
  { origin, version, integrity, action, session, context, onRetry, ...setup }: BondProps,
  isMounted: () => boolean,
): Promise<BondOutcome | undefined> {
  const pulse = await loadPulse({ origin, version, integrity })
  // An effect that StrictMode has already cleaned up ends here, before it creates a session.
  if (!isMounted()) return undefined
  pulse.init({ ...setup, containerId: nameContainer(container) })
  return pulse.requireBond({ action, session, context, onRetry })
}
