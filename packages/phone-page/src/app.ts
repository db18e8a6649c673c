import type { Handoff } from '@bonded/contract'
import { createDeciding } from './decide.ts'
import { createEnrolling, type EnrollDependencies } from './enroll.ts'
import type { EvidenceAhead } from './evidence-ahead.ts'
import { createKeys } from './keys.ts'
import type { MotionRecorder } from './motion.ts'
import type { Choice, Removal } from './screen.ts'
import { Stage, type StageDependencies } from './stage.ts'

export interface AppDependencies extends StageDependencies, Omit<EnrollDependencies, 'handoff'> {
  /** The request of the link. Without one, the page lists the user's phones. */
  readonly handoff: Handoff | undefined
  readonly motion: MotionRecorder
  readonly evidence: EvidenceAhead
  /** Closes the page, where the browser permits it. */
  readonly close: () => void
}

/** The controller of the page: it receives the user's choices. */
export interface App {
  choose(choice: Choice): void
  /** The user wants to remove a phone, or its browser key. */
  remove(removal: Removal): void
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
  const { motion, recovery, store, handoff, close } = dependencies
  const stage = new Stage(dependencies)
  const enrolling = handoff && createEnrolling(stage, { ...dependencies, handoff })
  const deciding = createDeciding(stage, dependencies)
  const keys = createKeys(stage, dependencies)
  let isInKeys = enrolling === undefined
  const start = async () => (enrolling === undefined || isInKeys ? keys.open() : enrolling.start())
  const listKeys = () => {
    isInKeys = true
    void keys.open()
  }
  stage.onBack = () => void start()
  const shows = (...names: string[]) => names.includes(stage.screen.name)

  const reject = (reason: 'user_declined' | 'user_unexpected') => {
    const { claimed, screen } = stage
    const needsApp = screen.name === 'problem' && screen.problem === 'app_required'
    if (
      claimed !== undefined &&
      (needsApp || shows('request', 'step_up', 'browser_key', 'awaiting_browser'))
    )
      void deciding.decline(claimed, { reason })
  }
  const act: Readonly<Record<Choice, () => void>> = {
    set_up: () => {
      const setUp = () => (shows('setup') ? enrolling?.setUp() : undefined)
      if (shows('setup')) void motion.requestAccess().then(setUp)
    },
    recover: () => {
      const recover = () => (shows('setup') ? enrolling?.recover() : undefined)
      if (shows('setup')) void motion.requestAccess().then(recover)
    },
    approve: () =>
      void (stage.claimed !== undefined && shows('request') && deciding.approve(stage.claimed)),
    decline: () => reject('user_declined'),
    report: () => reject('user_unexpected'),
    continue: () => {
      if (shows('step_up', 'browser_key', 'renew')) stage.untilContinued.end()
      else if (shows('new_key')) void enrolling?.replaceKey()
      else if (stage.screen.name === 'removal') void keys.remove(stage.screen)
    },
    allow_motion: () => {
      if (shows('motion')) void motion.requestAccess().then(() => stage.untilContinued.end())
    },
    retry: () => void (shows('problem') && start()),
    set_up_again() {
      if (!shows('problem')) return
      isInKeys = enrolling === undefined
      const again = enrolling?.setUpAgain() ?? store.forget().then(start)
      again.catch((failure) => stage.fail(failure))
    },
    keys: () => void (shows('ended', 'completed', 'removal') && listKeys()),
    close,
  }

  void start()
  return {
    choose: (choice) => act[choice](),
    remove: (removal) => shows('keys') && stage.present({ name: 'removal', ...removal }),
    reconnect: () => recovery.hurry(),
    async beforeSigning() {
      // While it opens a request or the list, the phone signs to renew its token: a prompt that
      // approves nothing, so the page explains it first. Some browsers also require a tap.
      const { screen } = stage
      const isOpening = screen.name === 'working' && screen.task === 'opening'
      if (!isOpening && screen.name !== 'loading') return
      stage.present({ name: 'renew' })
      await stage.untilContinued()
      stage.present(screen)
    },
    onSigned: ({ isSynced }) => void (stage.isSynced = isSynced),
  }
}
