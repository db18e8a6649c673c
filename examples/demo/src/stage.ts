import type { Activity } from './activity/activity.ts'
import type { Sandbox } from './sandbox.ts'
import type { Scenario } from './scenarios.ts'

/** How often the stage looks for a QR code on a page. */
const LOOK_MS = 300
/** Long enough to see the QR code before the service stops. */
const SHOWN_MS = 1_500

/** Sets the sandbox up for a scenario, and stops and starts the service. */
export interface Stage extends Disposable {
  choose(scenario: Scenario): Promise<void>
  stopService(): Promise<void>
  startService(): Promise<void>
}

/** Creates the stage. */
export function createStage(options: {
  readonly sandbox: Sandbox
  readonly activity: Activity
  readonly onChange: () => void
}): Stage {
  const { sandbox, activity, onChange } = options
  let looking: NodeJS.Timeout | undefined
  let stopping: NodeJS.Timeout | undefined
  let knownCode: string | undefined

  const disarm = () => {
    clearInterval(looking)
    clearTimeout(stopping)
    looking = undefined
  }
  const stopService = async () => {
    disarm()
    if (!sandbox.isServiceRunning()) return
    await sandbox.stopService()
    activity.add({ actor: 'Service', text: 'stopped; nothing can be approved now', tone: 'stop' })
    onChange()
  }
  const startService = async () => {
    if (sandbox.isServiceRunning()) return
    await sandbox.startService()
    activity.add({ actor: 'Service', text: 'started again', tone: 'good' })
    onChange()
  }
  /** Stops the service once a page shows a QR code that it did not show before. */
  const stopAtNextCode = async () => {
    knownCode = (await sandbox.newestCode())?.session_id
    looking = setInterval(() => {
      sandbox.newestCode().then(
        (code) => {
          if (looking === undefined || code?.isWatched !== true || code.session_id === knownCode)
            return
          disarm()
          stopping = setTimeout(() => void stopService(), SHOWN_MS).unref()
        },
        // A closed store has no QR code.
        () => {},
      )
    }, LOOK_MS).unref()
  }

  return {
    async choose({ stopsService }) {
      disarm()
      await startService()
      if (stopsService === true) await stopAtNextCode()
    },
    stopService,
    startService,
    [Symbol.dispose]: disarm,
  }
}
