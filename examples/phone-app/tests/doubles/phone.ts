import { hash } from 'node:crypto'
import {
  type CreateBrowserKey,
  createPhone,
  type FetchLike,
  type PlatformSigner,
} from '@bonded/phone'
import { createAndroidAuthority, createAppAttestAuthority, nodeClock } from '@bonded/simulator'
import { asTestRoots, TEST_ROOTS } from '../../../../tests/harness/attested-phones.ts'
import {
  type Harness,
  harness,
  type HarnessOptions,
  PUBLIC_ORIGIN,
} from '../../../../tests/harness/harness.ts'
import { TestClock } from '../../../../tests/harness/test-clock.ts'
import { createDeviceStore, type SecureItems } from '../../src/device/device-store.ts'
import type { MotionRecorder } from '../../src/device/motion.ts'
import type { LocalAuth, UserVerifier } from '../../src/device/user-verifier.ts'
import { createAppAttestSigner } from '../../src/signers/app-attest.ts'
import { createKeystoreSigner } from '../../src/signers/keystore.ts'
import { AppIntegrityDouble } from './app-integrity.ts'
import { KeystoreDouble } from './keystore.ts'

const APPLE = createAppAttestAuthority(new TestClock().now())
const ANDROID = createAndroidAuthority()

/** A service that trusts the test PKI of these doubles as test roots. */
export function serviceForApps(options: HarnessOptions = {}): Promise<Harness> {
  const roots = { ...TEST_ROOTS, apple: APPLE.root, android: ANDROID.rootKeyDigest }
  return harness({ ...options, attestation: (clock) => asTestRoots(clock, roots) })
}

export class ItemsDouble implements SecureItems {
  readonly values = new Map<string, string>()
  get = async (name: string) => this.values.get(name) ?? null
  set = async (name: string, value: string) => void this.values.set(name, value)
  delete = async (name: string) => void this.values.delete(name)
}

/** The user of the phone. Each prompt has the next answer; then the user always agrees. */
export class UserDouble implements UserVerifier {
  readonly prompts: string[] = []
  answers: LocalAuth['result'][] = []
  screenLock = true
  /** Called when the user authenticated. */
  onVerified: () => void = () => {}

  hasScreenLock = async () => this.screenLock
  verify = async ({ message }: { message: string }): Promise<LocalAuth> => {
    this.prompts.push(message)
    const result = this.answers.shift() ?? 'verified'
    if (result === 'verified') this.onVerified()
    const method = result === 'verified' ? 'device_credential' : 'none'
    return { result, method, at_ms: nodeClock.now() }
  }
}

/** A phone that the user has carried for a minute. */
export const carried: MotionRecorder = {
  start: async () => {},
  touched: () => {},
  isAvailable: () => true,
  seconds: () => 60,
  signal: () => ({
    window_ms: 60_000,
    features: Array.from({ length: 60 }, (_, second) => ({
      t_ms: second * 1_000,
      acc_var: second < 40 ? 3 + Math.sin(second * 1.7) * 1.3 : 0.05 + (second % 7) / 100,
      gyro_var: second < 40 ? 0.8 + Math.cos(second * 2.3) * 0.3 : 0.01 + (second % 5) / 200,
      handling: second > 40 && second % 4 === 0 ? 1 : 0,
    })),
  }),
}

export interface PhoneDouble {
  readonly signer: PlatformSigner
  readonly items: ItemsDouble
  readonly user: UserDouble
  /** Deletes the platform’s key. */
  loseKey(): void
}

/** Each platform with its own signer over a double of its native module. */
export const PLATFORMS: Readonly<Record<'ios' | 'android', () => PhoneDouble>> = {
  ios() {
    const items = new ItemsDouble()
    const integrity = new AppIntegrityDouble({
      appId: 'TEAM123456.example.bank',
      authority: APPLE,
      now: () => new TestClock().now(),
    })
    const signer = createAppAttestSigner(integrity, createDeviceStore(items, PUBLIC_ORIGIN))
    return { signer, items, user: new UserDouble(), loseKey: () => integrity.reinstall() }
  },
  android() {
    const user = new UserDouble()
    const keystore = new KeystoreDouble(ANDROID)
    user.onVerified = () => (keystore.isUnlocked = true)
    const unlock = async () =>
      (await user.verify({ message: 'Unlock the key' })).result === 'verified'
    const signer = createKeystoreSigner({ keystore, sha256, unlock })
    return { signer, items: new ItemsDouble(), user, loseKey: () => keystore.invalidate() }
  },
}

/** The phone library with this signer, towards the harness's service. */
export function connect(
  h: Harness,
  { signer, items }: PhoneDouble,
  through: (fetch: FetchLike) => FetchLike = (fetch) => fetch,
  createBrowserKey?: CreateBrowserKey,
) {
  const store = createDeviceStore(items, PUBLIC_ORIGIN)
  const fetchOfHarness: FetchLike = (url, { signal, ...request }) =>
    fetch(url.replace(PUBLIC_ORIGIN, `http://127.0.0.1:${h.running.port}`), {
      ...request,
      ...(signal === undefined ? {} : { signal: signal as AbortSignal }),
    })
  const phone = createPhone({
    origin: PUBLIC_ORIGIN,
    signer,
    sha256,
    store,
    fetch: through(fetchOfHarness),
    clock: nodeClock,
    createBrowserKey,
    showsText: true,
    showsQuorum: true,
  })
  return { phone, store }
}

function sha256(bytes: Uint8Array): Uint8Array {
  return hash('sha256', bytes, 'buffer')
}
