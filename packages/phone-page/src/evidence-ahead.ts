import { MIN_CONTINUITY_SCORE } from '@bonded/contract'
import type { ClaimedSession, Phone, PhoneSignals } from '@bonded/phone'
import { type MotionRecorder, NEEDED_MOTION_SECONDS } from './motion.ts'

const KEY = 'bonded-evidence'
const POLL_MS = 100
const WITHOUT_SENSORS: ReadonlySet<string> = new Set(['denied', 'needs_permission'])

/**
 * Fetches the evidence of a request while its user reads it, so that the approval need not wait.
 */
export interface EvidenceAhead {
  /** The page shows a request. A session has six evidence requests; this uses one of them, once. */
  start(claimed: ClaimedSession): void
  /** The signals with their evidence; undefined where the approval must gather and fetch anew. */
  take(): Promise<PhoneSignals | undefined>
}

export function createEvidenceAhead({
  phone,
  motion,
  page,
}: {
  readonly phone: Pick<Phone, 'fetchEvidence'>
  readonly motion: Pick<MotionRecorder, 'access' | 'seconds' | 'signals'>
  readonly page: Pick<Window, 'localStorage'>
}): EvidenceAhead {
  let isWaiting = false
  let ahead: Promise<PhoneSignals | undefined> | undefined

  /** Sensors that are silent may start later. */
  const isComplete = () =>
    motion.seconds() >= NEEDED_MOTION_SECONDS || WITHOUT_SENSORS.has(motion.access())

  const fetchOnce = async (claimed: ClaimedSession) => {
    const { id } = claimed.session
    isWaiting = true
    while (!isComplete()) {
      await new Promise((resolve) => void setTimeout(resolve, POLL_MS))
      if (!isWaiting) return
    }
    // Every tab and every reload of a session share its evidence requests.
    if (page.localStorage.getItem(KEY) === id) return
    page.localStorage.setItem(KEY, id)
    const signals = signalsOf(motion)
    return { ...signals, evidence: await phone.fetchEvidence(claimed, { signals }) }
  }

  /** Whether later signals could prove more, because the phone lay still so far. */
  const isImprovable = ({ sensor_continuity, evidence }: PhoneSignals) =>
    sensor_continuity !== undefined &&
    evidence!.evidence.sensor_continuity.continuity_score < MIN_CONTINUITY_SCORE

  return {
    start: (claimed) => void (ahead = fetchOnce(claimed).catch(() => undefined)),
    async take() {
      isWaiting = false
      const taken = await ahead
      ahead = undefined
      return taken && !isImprovable(taken) ? taken : undefined
    },
  }
}

/** The signals of a browser: only an app can report more than motion. */
export function signalsOf(motion: Pick<MotionRecorder, 'signals'>): PhoneSignals {
  return {
    // The assertion's user verification flag is the proof; a page's own word counts for nothing.
    local_auth: { result: 'failed', method: 'none', at_ms: performance.now() },
    ...motion.signals(),
  }
}
