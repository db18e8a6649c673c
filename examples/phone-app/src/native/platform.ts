import { createPhone, type FetchLike, type PhoneClock } from '@bonded/phone'
import * as AppIntegrity from '@expo/app-integrity'
import Constants from 'expo-constants'
import * as Crypto from 'expo-crypto'
import * as LocalAuthentication from 'expo-local-authentication'
import * as SecureStore from 'expo-secure-store'
import { DeviceMotion } from 'expo-sensors'
import { fetch as expoFetch } from 'expo/fetch'
import { Platform } from 'react-native'
import * as Passkeys from 'react-native-passkeys'
import { keystore } from '../../modules/bonded-keystore/index.ts'
import { createBrowserKeys } from '../device/browser-key.ts'
import { createDeviceStore, type SecureItems } from '../device/device-store.ts'
import { createMotionRecorder } from '../device/motion.ts'
import { createUserVerifier } from '../device/user-verifier.ts'
import { en } from '../messages.ts'
import { type AppDependencies } from '../session/app.ts'
import { createAppAttestSigner } from '../signers/app-attest.ts'
import { createKeystoreSigner } from '../signers/keystore.ts'

/** Longer than the longest poll. A connection without a response for longer has failed. */
const RESPONSE_WITHIN_MS = 40_000

/** On this phone only: not in a backup, and not readable while the phone is locked. */
const STORE_OPTIONS: SecureStore.SecureStoreOptions = {
  keychainService: 'bonded',
  keychainAccessible: SecureStore.WHEN_UNLOCKED_THIS_DEVICE_ONLY,
}

const secureItems: SecureItems = {
  get: (name) => SecureStore.getItemAsync(name, STORE_OPTIONS),
  set: (name, value) => SecureStore.setItemAsync(name, value, STORE_OPTIONS),
  delete: (name) => SecureStore.deleteItemAsync(name, STORE_OPTIONS),
}

/** Monotonic, and never the time of day. In milliseconds. */
const now = () => performance.now()

const clock: PhoneClock = {
  now,
  schedule(delayMs, act) {
    const timer = setTimeout(act, delayMs)
    return () => clearTimeout(timer)
  },
}

/**
 * Expo's fetch: it is the one in React Native that honors `redirect: 'error'`. It sends no cookies,
 * and ends a request without a response.
 */
const fetch: FetchLike = async (url, { signal, body, ...request }) => {
  const ending = new AbortController()
  const end = () => ending.abort()
  const timer = setTimeout(end, RESPONSE_WITHIN_MS)
  signal?.addEventListener('abort', end)
  try {
    const response = await expoFetch(url, {
      ...request,
      headers: { ...request.headers },
      ...(body === undefined ? {} : { body }),
      credentials: 'omit',
      signal: ending.signal,
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, text: async () => text }
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', end)
  }
}

const sha256 = async (bytes: Uint8Array) =>
  new Uint8Array(await Crypto.digest(Crypto.CryptoDigestAlgorithm.SHA256, Uint8Array.from(bytes)))

/** The service's origin, which `app.config.ts` takes from `BONDED_ORIGIN`. */
const origin = String(Constants.expoConfig?.extra?.['bondedOrigin'])

/** The real phone: its keys, its storage, its sensors, and its connection. */
export function createDependencies(): Omit<AppDependencies, 'show'> {
  const os = Platform.OS === 'ios' ? 'ios' : 'android'
  const store = createDeviceStore(secureItems, origin)
  const verifier = createUserVerifier({ authentication: LocalAuthentication, os, now })
  const { unlock, usePasscode } = en.prompts
  const signer =
    os === 'ios'
      ? createAppAttestSigner(AppIntegrity, store)
      : createKeystoreSigner({
          keystore: keystore(),
          sha256,
          unlock: async () =>
            (await verifier.verify({ message: unlock, usePasscode })).result === 'verified',
        })
  const createBrowserKey = createBrowserKeys(Passkeys, {
    rpName: en.appTitle,
    keyName: en.passkey(new Date().toLocaleDateString()),
    random: (length) => Crypto.getRandomBytes(length),
  })
  const platform = {
    origin,
    signer,
    sha256,
    store,
    fetch,
    clock,
    WebSocket,
    createBrowserKey,
    // Each value is a `Text` of its own, which is a paragraph of its own.
    isolatesValues: true as const,
    showsText: true as const,
    showsQuorum: true as const,
  }
  return {
    phone: createPhone(platform),
    store,
    verifier,
    motion: createMotionRecorder(DeviceMotion, now),
    prompts: en.prompts,
  }
}
