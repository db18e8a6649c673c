import type { Handoff, Invitation } from '@bonded/contract'
import { isRefusal, type Phone } from '@bonded/phone'
import type { DeviceStore } from './device-store.ts'
import { obstacleIn, shownInvitation } from './invitation.ts'
import type { MotionRecorder } from './motion.ts'
import type { Task } from './screen.ts'
import type { Stage } from './stage.ts'

export interface EnrollDependencies {
  readonly phone: Phone
  /** The same phone, which registers a new key although it has one. */
  readonly phoneWithNewKey: Pick<Phone, 'register'>
  readonly store: DeviceStore
  readonly motion: Pick<MotionRecorder, 'access' | 'checked'>
  readonly handoff: Handoff
  readonly origin: string
  readonly appLink: string | null
  /** Whether this browser can attest a key. */
  readonly canAttest: boolean
  /** Runs an act while no other tab of this browser runs one. */
  readonly alone: <T>(act: () => Promise<T>) => Promise<T>
}

/** Takes a link to its request: it registers a key where necessary, and claims the session. */
export interface Enrolling {
  start(): Promise<void>
  /** The user agreed to create a key. */
  setUp(): Promise<void>
  /** The user agreed to create a key in place of one that the session does not accept. */
  replaceKey(): Promise<void>
  /** Registers this phone anew, in place of a key that is lost. */
  setUpAgain(): Promise<void>
}

export function createEnrolling(stage: Stage, dependencies: EnrollDependencies): Enrolling {
  const { phone, phoneWithNewKey, store, motion, handoff } = dependencies
  const { origin, appLink, canAttest, alone } = dependencies
  let invitation: Invitation | undefined
  /** A key that the user has replaced holds the session, so no other key can approve it. */
  let isHeldByFormerKey = false
  /** The key was made for this session. A session that rejects it rejects the next one too. */
  let hasMadeKey = false

  const start = async () => {
    stage.present({ name: 'loading' })
    try {
      await motion.checked
      if ((await store.device()) !== undefined) {
        await allowMotion()
        return await open('opening')
      }
      invitation = await phone.readInvitation(handoff)
      const obstacle = obstacleIn(invitation, canAttest)
      if (obstacle !== null) return stage.presentProblem(obstacle)
      const shown = shownInvitation(invitation, origin)
      stage.present({ name: 'setup', invitation: shown, appLink })
    } catch (failure) {
      stage.fail(failure)
    }
  }

  /**
   * On a browser that allows the sensors only after a tap: asks before the request is shown, so
   * that the time in which the user reads it is recorded.
   */
  const allowMotion = async () => {
    if (motion.access() !== 'needs_permission') return
    stage.present({ name: 'motion' })
    await stage.untilContinued()
  }

  const open = async (task: Task) => {
    stage.busyWith(task)
    try {
      // Two tabs would otherwise create two passkeys, and only one of them could approve.
      await alone(() => phone.register(invitation))
      hasMadeKey ||= task === 'setting_up'
      stage.claimed = await phone.claim(handoff)
      stage.presentClaimed(stage.claimed)
    } catch (failure) {
      await explain(failure).catch(stage.fail.bind(stage))
    }
  }

  const explain = async (failure: unknown) => {
    if (isUnattested(failure)) {
      const isReplaceable = !hasMadeKey && (await store.device()) !== undefined
      invitation ??= await phone.readInvitation(handoff)
      const wanted = invitation.registration.attestation
      if (!isReplaceable || !canAttest || wanted === 'none')
        return stage.presentProblem('cannot_attest')
      const { tenant_name } = shownInvitation(invitation, origin)
      return stage.present({ name: 'new_key', tenant: tenant_name })
    }
    if (isHeldByFormerKey && isRefusal(failure, 'session_claimed'))
      return stage.presentProblem('start_again')
    stage.fail(failure)
  }

  return {
    start,
    setUp: () => open('setting_up'),
    async replaceKey() {
      stage.busyWith('setting_up')
      try {
        await alone(() => phoneWithNewKey.register(invitation))
        hasMadeKey = true
      } catch (failure) {
        // The former key stays: other sessions accept it.
        return isUnattested(failure) ? stage.presentProblem('cannot_attest') : stage.fail(failure)
      }
      await open('opening')
    },
    async setUpAgain() {
      isHeldByFormerKey ||= stage.claimed !== undefined
      stage.claimed = undefined
      invitation = undefined
      await store.forget()
      await start()
    },
  }
}

/** Whether the session needs an attestation that the key does not have, or not a sufficient one. */
function isUnattested(failure: unknown): boolean {
  return isRefusal(failure, 'key_not_attested') || isRefusal(failure, 'attestation_invalid')
}
