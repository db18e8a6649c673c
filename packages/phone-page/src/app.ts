import { createDeciding } from './decide.ts'
import { createEnrolling, type EnrollDependencies } from './enroll.ts'
import type { MotionRecorder } from './motion.ts'
import type { Choice } from './screen.ts'
import { Stage, type StageDependencies } from './stage.ts'

export interface AppDependencies extends StageDependencies, EnrollDependencies {
  readonly motion: MotionRecorder
  /** Closes the page, where the browser permits it. */
  readonly close: () => void
}

/** The controller of the page: it receives the user's choices. */
export interface App {
  choose(choice: Choice): void
  /** The browser is connected again, or the user is back at the page. */
  reconnect(): void
  /** Resolves when the phone may prompt its user for a signature. */
  beforeSigning(): Promise<void>
  /** A key has signed. */
  onSigned(key: { readonly isSynced: boolean }): void
}

/**
 * Takes one session from its link to its end. The controller holds one claimed session and one
 * screen; every choice that does not fit the screen is ignored, so a double tap has no effect.
 */
export function startApp(dependencies: AppDependencies): App {
  const { motion, recovery, close } = dependencies
  const stage = new Stage(dependencies)
  const enrolling = createEnrolling(stage, dependencies)
  const deciding = createDeciding(stage, dependencies)
  stage.onBack = () => void enrolling.start()
  const shows = (...names: string[]) => names.includes(stage.screen.name)

  const reject = (reason: 'user_declined' | 'user_unexpected') => {
    const { claimed, screen } = stage
    const needsApp = screen.name === 'problem' && screen.problem === 'app_required'
    if (claimed !== undefined && (needsApp || shows('request', 'step_up', 'awaiting_browser')))
      void deciding.decline(claimed, reason)
  }
  const act: Readonly<Record<Choice, () => void>> = {
    set_up: () => {
      const setUp = () => (shows('setup') ? enrolling.setUp() : undefined)
      if (shows('setup')) void motion.requestAccess().then(setUp)
    },
    recover: () => {
      const recover = () => (shows('setup') ? enrolling.recover() : undefined)
      if (shows('setup')) void motion.requestAccess().then(recover)
    },
    approve: () =>
      void (stage.claimed !== undefined && shows('request') && deciding.approve(stage.claimed)),
    decline: () => reject('user_declined'),
    report: () => reject('user_unexpected'),
    continue: () => {
      if (shows('step_up', 'renew')) stage.untilContinued.end()
      else if (shows('new_key')) void enrolling.replaceKey()
    },
    allow_motion: () => {
      if (shows('motion')) void motion.requestAccess().then(() => stage.untilContinued.end())
    },
    retry: () => void (shows('problem') && enrolling.start()),
    set_up_again: () =>
      void (shows('problem') && enrolling.setUpAgain().catch((failure) => stage.fail(failure))),
    close,
  }

  void enrolling.start()
  return {
    choose: (choice) => act[choice](),
    reconnect: () => recovery.hurry(),
    async beforeSigning() {
      // While it opens a request, the phone signs to renew its token: a prompt that approves
      // nothing, so the page explains it first. Some browsers also require a tap.
      if (stage.screen.name !== 'working' || stage.screen.task !== 'opening') return
      stage.present({ name: 'renew' })
      await stage.untilContinued()
      stage.busyWith('opening')
    },
    onSigned: ({ isSynced }) => void (stage.isSynced = isSynced),
  }
}
