import type { ExpoConfig } from 'expo/config'

/** The environment variables that a build reads, with their defaults. */
const {
  BONDED_ORIGIN = '',
  BONDED_SCHEME = 'pulse',
  IOS_BUNDLE_ID = 'org.bonded.example',
  ANDROID_PACKAGE = 'org.bonded.example',
  APP_ATTEST_ENVIRONMENT = 'development',
} = process.env

/** An origin of https, as the service's BONDED_PUBLIC_ORIGIN. Phones reject other links. */
const [, host] = /^https:\/\/([a-z0-9.-]+(?::\d+)?)$/.exec(BONDED_ORIGIN) ?? []
if (host === undefined)
  throw new Error(
    `BONDED_ORIGIN must be the https origin of the service, such as https://bond.example.com. It is "${BONDED_ORIGIN}".`,
  )

const config: ExpoConfig = {
  name: 'Bonded',
  slug: 'bonded-phone-app',
  version: '0.1.0',
  platforms: ['ios', 'android'],
  orientation: 'portrait',
  userInterfaceStyle: 'automatic',
  // A QR code with qr_payload.
  scheme: BONDED_SCHEME,
  ios: {
    bundleIdentifier: IOS_BUNDLE_ID,
    // A QR code with universal_link. The service serves /.well-known/apple-app-site-association.
    // Passkeys for the browser belong to the same host.
    associatedDomains: [`applinks:${host}`, `webcredentials:${host}`],
    entitlements: {
      'com.apple.developer.devicecheck.appattest-environment': APP_ATTEST_ENVIRONMENT,
    },
    config: { usesNonExemptEncryption: false },
  },
  android: {
    package: ANDROID_PACKAGE,
    // A restored counter would be behind the service's.
    allowBackup: false,
    // The service serves /.well-known/assetlinks.json.
    intentFilters: [
      {
        action: 'VIEW',
        autoVerify: true,
        data: [{ scheme: 'https', host, path: '/bond' }],
        category: ['BROWSABLE', 'DEFAULT'],
      },
    ],
  },
  plugins: [
    [
      'expo-camera',
      {
        cameraPermission: 'The camera scans the QR code of a request.',
        microphonePermission: false,
        recordAudioAndroid: false,
      },
    ],
    [
      'expo-local-authentication',
      { faceIDPermission: 'Face ID confirms that you approve a request.' },
    ],
    ['expo-secure-store', { faceIDPermission: false }],
    [
      'expo-sensors',
      {
        motionPermission:
          'Motion shows that this phone is held, not lying still. The readings stay on it.',
      },
    ],
  ],
  extra: { bondedOrigin: BONDED_ORIGIN },
}

export default config
