import { type Handoff, parseHandoff } from '@bonded/contract'
import { type ListedKey, type Phone, PhoneError } from '@bonded/phone'
import type { DeviceStore } from '../device/device-store.ts'
import type { MotionRecorder } from '../device/motion.ts'
import type { UserVerifier } from '../device/user-verifier.ts'
import { type Approval, startApproval } from './approval.ts'
import { problemOf } from './problem.ts'
import type { Choice, Notice, Screen, Task } from './screen.ts'

export interface AppDependencies {
  readonly phone: Phone
  readonly store: DeviceStore
  readonly motion: MotionRecorder
  readonly verifier: UserVerifier
  /** The texts of the system's prompt. */
  readonly prompts: {
    readonly approve: (tenant: string) => string
    readonly remove: string
    readonly usePasscode: string
  }
  readonly show: (screen: Screen) => void
  /** Resolves after this time. By default, a timer of the platform does. */
  readonly pause?: (ms: number) => Promise<void>
}

const pauseByTimer = (ms: number) => new Promise<void>((resolve) => void setTimeout(resolve, ms))

/** The controller of the app. It receives links, scanned texts, and the user's choices. */
export interface App {
  /** Opens the session of a link or a scanned QR code. Ignored while the phone signs. */
  open(text: string): void
  choose(choice: Choice): void
  /** Selects a phone of the list, to remove it. */
  select(key: ListedKey): void
}

/** Starts the app: with the setup on a new phone, otherwise with the home screen. */
// oxlint-disable-next-line max-lines-per-function -- short handlers over the state of one app
export function startApp(given: AppDependencies): App {
  const { phone, store, motion, verifier, prompts, pause = pauseByTimer } = given
  let screen: Screen = { name: 'loading' }
  let approval: Approval | undefined
  /** A session that was opened before the phone was set up. */
  let waiting: Handoff | undefined
  let isSetUp: boolean | undefined
  let isBusy = false

  const show = (next: Screen) => {
    screen = next
    given.show(next)
  }
  const working = (task: Task) => show({ name: 'working', task, request: null })
  const fail = (failure: unknown) => {
    const requestId = failure instanceof PhoneError ? (failure.request_id ?? null) : null
    show({ name: 'problem', problem: problemOf(failure), requestId })
  }
  /** Runs one task at a time. A tap during a task has no effect. */
  const run = (task: () => Promise<void>) => {
    if (isBusy) return
    isBusy = true
    task()
      .catch(fail)
      .finally(() => {
        isBusy = false
        // A link that arrived during the task.
        if (isSetUp === true && waiting !== undefined) begin(waiting)
      })
  }

  const begin = (handoff: Handoff) => {
    waiting = undefined
    approval?.close()
    approval = startApproval(handoff, {
      phone,
      motion,
      verifier,
      prompt: (tenant) => ({
        message: prompts.approve(tenant),
        usePasscode: prompts.usePasscode,
      }),
      show,
      pause,
    })
  }
  const home = () => {
    approval?.close()
    approval = undefined
    if (isSetUp !== true) show({ name: 'setup', hasRequest: waiting !== undefined })
    else if (waiting !== undefined) begin(waiting)
    else show({ name: 'home' })
  }
  const start = async () => {
    isSetUp = (await store.device()) !== undefined
    home()
  }
  const setUp = async () => {
    working('setting_up')
    if (!(await verifier.hasScreenLock()))
      throw new PhoneError('authenticator_unusable', { reason: 'no_screen_lock' })
    await phone.register()
    isSetUp = true
    home()
  }
  const setUpAgain = async () => {
    await store.forget()
    isSetUp = false
    home()
  }
  const listPhones = async (notice: Notice | null = null) => {
    working('listing')
    show({ name: 'phones', keys: await phone.listKeys(), notice })
  }
  const isConfirmed = async () => {
    working('removing')
    const { remove, usePasscode } = prompts
    return (await verifier.verify({ message: remove, usePasscode })).result === 'verified'
  }
  const removePhone = async ({ device_id, own }: ListedKey) => {
    if (!(await isConfirmed())) return listPhones('not_verified_by_user')
    await phone.removeKey(device_id)
    return own ? setUpAgain() : listPhones()
  }
  const removeBrowserKey = async ({ device_id }: ListedKey) => {
    if (!(await isConfirmed())) return listPhones('not_verified_by_user')
    await phone.removeBrowserKey(device_id)
    return listPhones()
  }

  const act: Readonly<Partial<Record<Choice, () => void>>> = {
    set_up: () => screen.name === 'setup' && run(setUp),
    scan: () => screen.name === 'home' && show({ name: 'scanner', isUnreadable: false }),
    home: () => approval?.isBusy() !== true && !isBusy && home(),
    phones: () => (screen.name === 'home' || screen.name === 'removal') && run(() => listPhones()),
    remove_phone: () => {
      if (screen.name !== 'removal') return
      const { key } = screen
      run(() => removePhone(key))
    },
    remove_browser_key: () => {
      if (screen.name !== 'removal') return
      const { key } = screen
      run(() => removeBrowserKey(key))
    },
    set_up_again: () => {
      if (screen.name !== 'problem') return
      approval?.close()
      run(setUpAgain)
    },
    retry: () => approval === undefined && screen.name === 'problem' && run(start),
  }

  run(start)
  return {
    open(text) {
      if (approval?.isBusy() === true) return
      const handoff = parseHandoff(text)
      if (handoff === undefined) {
        if (screen.name === 'scanner') show({ name: 'scanner', isUnreadable: true })
        else fail(new PhoneError('handoff_unreadable'))
        return
      }
      if (isSetUp === true && !isBusy) begin(handoff)
      else {
        waiting = handoff
        if (screen.name === 'setup') home()
      }
    },
    choose(choice) {
      act[choice]?.()
      approval?.choose(choice)
    },
    select(key) {
      if (screen.name !== 'phones') return
      const also = screen.keys.filter(({ device_id }) => key.also_removes.includes(device_id))
      show({ name: 'removal', key, also })
    },
  }
}
