import type { Handoff, Invitation } from '@bonded/contract'
import { isRejection, type Phone, type PhoneDevice, type WebAuthnSigner } from '@bonded/phone'
import { type DeviceStore, StorageFailure } from './device-store.ts'
import type { EvidenceAhead } from './evidence-ahead.ts'
import type { Moment } from './failures.ts'
import { obstacleIn, recoveryFor, shownInvitation } from './invitation.ts'
import type { MotionRecorder } from './motion.ts'
import { isNotRecovered } from './problem.ts'
import type { Task } from './screen.ts'
import type { Stage } from './stage.ts'

export interface EnrollDependencies {
  readonly phone: Phone
  /** The same phone, which registers a new key although it has one. */
  readonly phoneWithNewKey: Pick<Phone, 'register'>
  /** Asks the authenticator to remove a key. */
  readonly discard: WebAuthnSigner['discard']
  readonly store: DeviceStore
  readonly motion: Pick<MotionRecorder, 'access' | 'checked'>
  /** Called while the user reads about the key, which needs a challenge. */
  readonly challengeAhead: () => void
  readonly evidence: Pick<EvidenceAhead, 'start'>
  readonly handoff: Handoff
  readonly origin: string
  readonly link: string
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
  /** The user has used this phone before, so its passkey may still exist. */
  recover(): Promise<void>
  /** The user agreed to create a key in place of one that the session does not accept. */
  replaceKey(): Promise<void>
  /** Registers this phone anew, in place of a key that is lost. */
  setUpAgain(): Promise<void>
}

// oxlint-disable-next-line max-lines-per-function -- short steps of one registration
export function createEnrolling(stage: Stage, dependencies: EnrollDependencies): Enrolling {
  const { phone, phoneWithNewKey, discard, store, motion, handoff } = dependencies
  const { origin, link, appLink, canAttest, alone, evidence, challengeAhead } = dependencies
  let invitation: Invitation | undefined
  /** A key that the user has replaced holds the session, so no other key can approve it. */
  let isHeldByFormerKey = false
  /**
   * The key was made for this session, in place of the former one, if any. A session that rejects
   * it rejects the next one too.
   */
  let made: { readonly device: PhoneDevice; readonly former: PhoneDevice | undefined } | undefined

  const start = async () => {
    stage.present({ name: 'loading' })
    try {
      await motion.checked
      if ((await store.device()) !== undefined) {
        await allowMotion()
        return await open('opening')
      }
      invitation = await phone.readInvitation(handoff)
      if (invitation.ended_reason === 'suspended') return stage.end('suspended')
      const obstacle = obstacleIn(invitation, canAttest)
      if (obstacle !== null) return stage.presentProblem(obstacle)
      presentSetup(invitation)
    } catch (failure) {
      stage.fail(failure)
    }
  }

  const presentSetup = (invitation: Invitation, hasNotRecovered = false) => {
    const recovery = recoveryFor(invitation)
    const shown = shownInvitation(invitation, origin)
    stage.present({ name: 'setup', invitation: shown, link, appLink, recovery, hasNotRecovered })
    challengeAhead()
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
      await alone(async () => {
        const former = await store.device()
        const device = await phone.register(invitation)
        if (former === undefined) await keepMade({ device, former })
      })
      stage.claimed = await phone.claim(handoff)
      stage.presentClaimed(stage.claimed)
      if (stage.claimed.session.state === 'pending') evidence.start(stage.claimed)
    } catch (failure) {
      const moment = task === 'setting_up' ? newKey() : 'open'
      await explain(failure, moment).catch((another) => stage.fail(another))
    }
  }

  /** A session that a former key of this browser holds cannot go on in another browser. */
  const newKey = (): Moment => (isHeldByFormerKey ? 'add_key' : 'set_up')

  const explain = async (failure: unknown, moment: Moment) => {
    if (isUnattested(failure)) {
      if (made !== undefined) await undoSetup(made)
      const isReplaceable = made === undefined && (await store.device()) !== undefined
      invitation ??= await phone.readInvitation(handoff)
      const { attestation, names_user } = invitation.registration
      // A new key belongs to a new user.
      if (!isReplaceable || !canAttest || attestation === 'none' || names_user)
        return stage.presentProblem('cannot_attest')
      const { tenant_name } = shownInvitation(invitation, origin)
      return stage.present({ name: 'new_key', tenant: tenant_name })
    }
    if (isHeldByFormerKey && isRejection(failure, 'session_claimed'))
      return stage.presentProblem('start_again')
    stage.fail(failure, moment)
  }

  /** Removes a new key at the service where nothing would find it again after this visit. */
  const keepMade = async (key: NonNullable<typeof made>) => {
    if (store.isStored() || invitation?.registration.attestation === 'none') {
      made = key
      return
    }
    stage.busyWith('removing')
    // Where the user does not confirm, the key stays registered. The page has no other signature.
    await phone.removeKey(key.device.device_id).catch(() => {})
    await undoSetup(key)
    throw new StorageFailure('write')
  }

  /** Discards a key that was made for a session that rejects it. The former key stays. */
  const undoSetup = async ({ device, former }: NonNullable<typeof made>) => {
    const stored = await store.device()
    if (stored?.device_id !== device.device_id) return
    await (former === undefined ? store.forget() : store.keep(former))
    await discard(device)
  }

  return {
    start,
    setUp: () => open('setting_up'),
    async recover() {
      if (invitation === undefined) return
      const known = invitation
      stage.busyWith('opening')
      try {
        await alone(() => phone.recover(known))
      } catch (failure) {
        return isNotRecovered(failure) ? presentSetup(known, true) : stage.fail(failure, 'recover')
      }
      await open('opening')
    },
    async replaceKey() {
      stage.busyWith('setting_up')
      try {
        await alone(async () => {
          const former = await store.device()
          await keepMade({ device: await phoneWithNewKey.register(invitation), former })
        })
      } catch (failure) {
        // The former key stays: other sessions accept it.
        if (isUnattested(failure)) return stage.presentProblem('cannot_attest')
        return stage.fail(failure, newKey())
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
  return isRejection(failure, 'key_not_attested') || isRejection(failure, 'attestation_invalid')
}
