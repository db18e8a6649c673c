import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { after, test } from 'node:test'
import { NO_REGISTRY } from '../../../tests/harness/no-registry.ts'

/**
 * The app outside this repository: installed from its lockfile and the packed packages, in a folder
 * of its own, and built without a network.
 */
const APP = resolve(import.meta.dirname, '..')
/** Written by tools. The others are the app. */
const NOT_SOURCES = /^(?:node_modules|vendor|\.expo|android|ios)(?:\/|$)/
/** The first bytes of Hermes bytecode. */
const HERMES_MAGIC = Buffer.from('c61fbc03c103191f', 'hex')
const ORIGIN = 'https://bond.example.com'

const folder = mkdtempSync(join(tmpdir(), 'bonded-app-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const skip = install()
if (typeof skip === 'string') console.warn(`LOUD: ${skip}`)

/** @returns why the app cannot be installed; false where it is */
function install(): string | false {
  cpSync(APP, folder, {
    recursive: true,
    filter: (path) => !NOT_SOURCES.test(relative(APP, path)),
  })
  const packed = run(process.execPath, [join(APP, 'scripts/pack-core.mjs')])
  assert.equal(packed.status, 0, packed.text)
  cpSync(join(APP, 'vendor'), join(folder, 'vendor'), { recursive: true })
  const installed = run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'])
  if (installed.status === 0) return false
  if (NO_REGISTRY.test(installed.text))
    return `the example app is not built, because npm reaches no registry for the packages of examples/phone-app/package-lock.json:\n${installed.text}`
  throw new Error(`npm ci of examples/phone-app failed:\n${installed.text}`)
}

/** Runs a command in the app's folder, which has no network from then on. */
function run(command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const { NODE_OPTIONS: _conditions, ...inherited } = process.env
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd: folder,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    env: { ...inherited, BONDED_ORIGIN: ORIGIN, ...env },
  })
  return { status, stdout, text: `${stdout}\n${stderr}` }
}

/** Runs a tool of the app's own `node_modules`. No request of it leaves this machine. */
function runTool(name: string, args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const closed = 'http://127.0.0.1:9'
  return run(process.execPath, [join(folder, 'node_modules/.bin', name), ...args], {
    CI: '1',
    EXPO_OFFLINE: '1',
    EXPO_NO_TELEMETRY: '1',
    HTTP_PROXY: closed,
    HTTPS_PROXY: closed,
    ...env,
  })
}

test('the app type-checks against the packed packages', { skip }, () => {
  const checked = runTool('tsc', ['--noEmit', '-p', '.'])
  assert.equal(checked.status, 0, checked.text)
})

test('the app is bundled as bytecode for iOS and Android, without a network', { skip }, () => {
  const exported = runTool('expo', ['export', '--platform', 'ios', '--platform', 'android'])
  assert.equal(exported.status, 0, exported.text)
  for (const os of ['ios', 'android']) {
    const [name, ...others] = globSync(`dist/_expo/static/js/${os}/*.hbc`, { cwd: folder })
    assert.ok(name !== undefined && others.length === 0, `${os}: ${exported.text}`)
    const bundle = readFileSync(join(folder, name))
    assert.deepEqual(bundle.subarray(0, HERMES_MAGIC.length), HERMES_MAGIC)
    assert.ok(bundle.includes('bonded-assertion/v1'), `${os}: the phone library`)
  }
})

interface Introspected {
  readonly ios: {
    readonly entitlements: Readonly<Record<string, unknown>>
    readonly infoPlist: Readonly<Record<string, unknown>>
  }
  readonly _internal: { readonly modResults: { readonly android: { readonly manifest: unknown } } }
}

test('the native projects declare links, App Attest, and only the needed permissions', {
  skip,
}, () => {
  const printed = runTool('expo', ['config', '--type', 'introspect', '--json'])
  assert.equal(printed.status, 0, printed.text)
  const { ios, _internal } = JSON.parse(printed.stdout) as Introspected
  assert.deepEqual(ios.entitlements, {
    'com.apple.developer.associated-domains': [
      'applinks:bond.example.com',
      'webcredentials:bond.example.com',
    ],
    'com.apple.developer.devicecheck.appattest-environment': 'development',
  })
  const usages = Object.keys(ios.infoPlist).filter((key) => key.endsWith('UsageDescription'))
  assert.deepEqual(usages.toSorted(), [
    'NSCameraUsageDescription',
    'NSFaceIDUsageDescription',
    'NSMotionUsageDescription',
  ])
  const manifest = JSON.stringify(_internal.modResults.android.manifest)
  for (const declared of [
    '"android:allowBackup":"false"',
    '"android:autoVerify":"true"',
    '"android:scheme":"https","android:host":"bond.example.com","android:path":"/bond"',
    '"android:scheme":"pulse"',
    'android.permission.CAMERA',
    'android.permission.USE_BIOMETRIC',
  ])
    assert.ok(manifest.includes(declared), `${declared} in ${manifest}`)
  assert.doesNotMatch(manifest, /RECORD_AUDIO/)
})

test('a build without an https origin stops with the reason', { skip }, () => {
  for (const BONDED_ORIGIN of ['', 'http://bond.example.com', 'https://bond.example.com/']) {
    const printed = runTool('expo', ['config', '--json'], { BONDED_ORIGIN })
    assert.notEqual(printed.status, 0)
    assert.match(printed.text, /BONDED_ORIGIN must be the https origin of the service/)
  }
})

test('Expo links the Keystore module on Android only', { skip }, () => {
  const linked = (os: string) => {
    const printed = runTool('expo-modules-autolinking', ['resolve', '-p', os, '--json'])
    assert.equal(printed.status, 0, printed.text)
    return printed.stdout.includes('org.bonded.keystore.BondedKeystoreModule')
  }
  assert.deepEqual([linked('android'), linked('apple')], [true, false])
})
