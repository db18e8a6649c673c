import { existsSync } from 'node:fs'
import { type BlockList, isIP } from 'node:net'
import { join } from 'node:path'
import { isDisplayText, isExactOrigin, type QrContent } from '@bonded/contract'
import type { PostgresSettings } from '@bonded/store/postgres/server/connections'
import {
  givenRootKeys,
  printedRootKeys,
  type RootKeySource,
  storedRootKeys,
} from '../adapters/keys/root-key-source.ts'
import { isProgram } from '../adapters/programs/program.ts'
import type { CarrierSettings } from '../adapters/carrier/carrier-client.ts'
import type { TrustedPhones } from '../adapters/attestation/phone-trust.ts'
import {
  type ConnectionLimits,
  DEFAULT_CONNECTION_LIMITS,
  parseConnectionLimits,
} from '@bonded/core/domain/connection-limits'
import { DEVICE_TOKEN_TTL_DAYS, REJECTION_RETENTION_DAYS } from '@bonded/core/domain/lifetimes'
import { type Limits, parseLimits, USUAL_LIMITS } from '@bonded/core/domain/limits'
import {
  parseAddresses,
  parseTrustedProxies,
  type TrustedProxies,
} from '../http/connection/client-address.ts'
import { passwordOnCommandLine, readDatabaseConfig } from './database-config.ts'
import { type ConfigMistake, type Raw, readCarriers, readFile } from './config-file.ts'
import type { AppLinks } from '@bonded/core/operations/service'
import { readReceiptSettings, type ReceiptConfig } from './receipt-settings.ts'
import { type RelyingParty, readRelyingParty } from './relying-party.ts'
import { parsePushHosts } from '../adapters/push/push-transport.ts'
import { parseWebhookHosts } from '../adapters/webhooks/destination.ts'
import { withSecretFiles } from './secret-files.ts'
import type { SettingReader } from './setting-reader.ts'
import { SETTINGS, type SettingName } from './settings.ts'
import { quotedValue, shownValue } from './shown-value.ts'
import { readTraces, type TraceSettings } from './trace-settings.ts'
import { readQrContent } from './qr-content.ts'
import { readTrustedPhones } from './trusted-phones.ts'
import { isThisMachine } from './this-machine.ts'

/** Settings given on the command line, by name, and the file to read. Other members are ignored. */
export type SettingFlags = Raw & { readonly BONDED_CONFIG?: string }

/** Where a setting's value comes from. The first of these that has one wins. */
export type SettingSource = 'flag' | 'environment' | 'file' | 'default'

/** A setting with the value that counts. */
export interface ChosenSetting {
  readonly name: SettingName
  /** The value as given, or the resulting default. */
  readonly value: string
  readonly source: SettingSource
  readonly secret: boolean
}

/** The checked configuration. */
export interface Config extends RelyingParty, ReceiptConfig {
  readonly publicOrigin: string
  readonly port: number
  readonly host: string
  /** The SQLite file; empty with PostgreSQL. */
  readonly databaseFile: string
  /** The PostgreSQL database; undefined with SQLite. */
  readonly postgres: PostgresSettings | undefined
  readonly rootKeys: RootKeySource
  readonly appScheme: string
  readonly relatedOrigins: boolean
  readonly qrContent: QrContent
  readonly dataDir: string
  /** Country certificates that passports are verified against. The folder may be missing. */
  readonly cscaDir: string
  /** Port of the metrics; undefined where they are disabled. */
  readonly metricsPort: number | undefined
  readonly metricsHost: string
  /** Where traces go; undefined where they are disabled. */
  readonly traces: TraceSettings | undefined
  readonly environment: 'sandbox' | 'production'
  /** The name that an operator states, for where neither a login nor sudo has one. */
  readonly operator: string | undefined
  readonly limits: Limits | 'off'
  /** How long a device token is valid after it was issued. */
  readonly deviceTokenTtlMs: number
  /** How long the reason of a rejection can be searched. */
  readonly rejectionRetentionMs: number
  /** What all request bodies in flight may hold in memory. */
  readonly bodyBudgetBytes: number
  /** The proxies whose X-Forwarded-For is trusted. */
  readonly trustedProxies: TrustedProxies
  readonly connections: ConnectionLimits
  readonly backendAddresses: BlockList | undefined
  /** Hosts with ports that webhooks may reach although they are not public. */
  readonly webhookHosts: readonly string[]
  readonly pushHosts: readonly string[]
  /** How long the service accepts requests after SIGTERM. */
  readonly drainMs: number
  /** The carriers to query about phone numbers. */
  readonly carriers: readonly CarrierSettings[]
  /** The apps and makers whose phones may register. */
  readonly phones: TrustedPhones
  readonly appLinks: AppLinks
}

/** Everything that is wrong with the configuration, in one error. */
export class ConfigError extends Error {
  readonly code = 'config_invalid'
  override readonly name = 'ConfigError'
  readonly mistakes: readonly ConfigMistake[]
  /** The settings that this version does not know, as in the environment. */
  readonly unknown: readonly string[]

  constructor(mistakes: readonly ConfigMistake[]) {
    super(
      [
        'The configuration is invalid:',
        ...mistakes.map(
          ({ setting, value, expected }) => `  ${setting}: ${value}. Expected ${expected}.`,
        ),
      ].join('\n'),
    )
    this.mistakes = mistakes
    this.unknown = mistakes.flatMap(({ unknown }) => unknown ?? [])
  }
}

/** Variables of backends and phones in guides and examples: one shell has them and the settings. */
const OF_READERS = [
  'BONDED_ORIGIN',
  'BONDED_PUBLISHABLE_KEY',
  'BONDED_SCHEME',
  'BONDED_SERVER_CREDENTIAL',
  'BONDED_SERVICE_ORIGIN',
  'BONDED_STORE',
  'BONDED_SUBJECT',
  'BONDED_TEST_DOUBLE',
]

/**
 * The configuration: a flag beats the environment, the environment beats the file that
 * `BONDED_CONFIG` names.
 *
 * @param options.ignored unknown settings that are not reported as mistakes
 * @throws {ConfigError} with every mistake
 */
// oxlint-disable-next-line max-lines-per-function -- a list: a line or two for each setting
export function readConfig(
  variables: NodeJS.ProcessEnv,
  flags: SettingFlags = {},
  { ignored = [] }: { readonly ignored?: readonly string[] } = {},
): Config {
  const mistakes: ConfigMistake[] = []
  const environment = withSecretFiles(variables, mistakes)
  const file = readFile(flags.BONDED_CONFIG ?? environment.BONDED_CONFIG, mistakes, ignored)
  for (const name of Object.keys(environment)) {
    const known =
      [...OF_READERS, ...ignored, 'BONDED_CONFIG'].includes(name) ||
      SETTINGS.some((setting) => setting.name === name)
    if (name.startsWith('BONDED_') && !known)
      mistakes.push({
        unknown: name,
        setting: name,
        value: 'is set',
        expected: `one of ${SETTINGS.map((setting) => setting.name).join(', ')}`,
      })
  }
  const given = (name: SettingName): string | undefined =>
    flags[name] ?? environment[name] ?? file[name]
  const wrong = (name: SettingName) => {
    const { expects, secret } = SETTINGS.find((setting) => setting.name === name) ?? {
      expects: '',
      secret: true,
    }
    mistakes.push({
      setting: name,
      value: secret ? '(not shown)' : quotedValue(name, given(name) ?? ''),
      expected: expects,
    })
  }

  const port = given('BONDED_PORT') ?? '8787'
  if (!isPort(port)) wrong('BONDED_PORT')
  const namedOrigin = given('BONDED_PUBLIC_ORIGIN')
  if (namedOrigin !== undefined && !isServiceOrigin(namedOrigin)) wrong('BONDED_PUBLIC_ORIGIN')
  const publicOrigin = namedOrigin ?? `http://localhost:${port}`
  const relyingParty = readRelyingParty({ publicOrigin, given, wrong })
  const dataDir = given('BONDED_DATA_DIR') ?? '.bonded'
  const namedCscaDir = given('BONDED_CSCA_DIR')
  if (namedCscaDir !== undefined && !existsSync(namedCscaDir)) wrong('BONDED_CSCA_DIR')
  const cscaDir = namedCscaDir ?? `${dataDir}/csca`
  const { databaseFile, postgres } = readDatabaseConfig({ dataDir, given, wrong, mistakes })
  mistakes.push(...passwordOnCommandLine(flags.BONDED_DATABASE_URL))
  const receipts = readReceiptSettings({ given, wrong, mistakes })
  const appScheme = given('BONDED_APP_SCHEME') ?? 'pulse'
  if (!/^[a-z][a-z0-9+.-]*$/.test(appScheme)) wrong('BONDED_APP_SCHEME')
  const metricsPort = given('BONDED_METRICS_PORT')
  if (metricsPort !== undefined && !(isPort(metricsPort) && Number(metricsPort) > 0))
    wrong('BONDED_METRICS_PORT')
  const metricsHost = given('BONDED_METRICS_HOST') ?? '127.0.0.1'
  if (isIP(metricsHost) === 0) wrong('BONDED_METRICS_HOST')
  const traces = readTraces({ given, wrong })
  const operator = given('BONDED_OPERATOR')
  if (operator !== undefined && !(isDisplayText(operator) && Array.from(operator).length <= 64))
    wrong('BONDED_OPERATOR')
  const stage = given('BONDED_ENVIRONMENT') ?? 'sandbox'
  if (stage !== 'sandbox' && stage !== 'production') wrong('BONDED_ENVIRONMENT')
  const limits = readLimits(given('BONDED_RATE_LIMITS') ?? 'on')
  if (limits === undefined) wrong('BONDED_RATE_LIMITS')
  const tokenTtlDays = given('BONDED_DEVICE_TOKEN_TTL_DAYS') ?? String(DEVICE_TOKEN_TTL_DAYS)
  if (!isTtlDays(tokenTtlDays)) wrong('BONDED_DEVICE_TOKEN_TTL_DAYS')
  const rejectionDays = given('BONDED_REJECTION_RETENTION_DAYS') ?? String(REJECTION_RETENTION_DAYS)
  if (!isTtlDays(rejectionDays)) wrong('BONDED_REJECTION_RETENTION_DAYS')
  const bodyBudget = given('BONDED_BODY_BUDGET_MIB') ?? '64'
  if (!/^[1-9]\d{0,3}$/.test(bodyBudget) || Number(bodyBudget) > 4_096)
    wrong('BONDED_BODY_BUDGET_MIB')
  const trustedProxies = parseTrustedProxies(given('BONDED_TRUST_PROXY') ?? '0')
  if (trustedProxies === undefined) wrong('BONDED_TRUST_PROXY')
  const namedConnections = given('BONDED_CONNECTION_LIMITS')
  const connections =
    namedConnections === undefined
      ? DEFAULT_CONNECTION_LIMITS
      : parseConnectionLimits(namedConnections)
  if (connections === undefined) wrong('BONDED_CONNECTION_LIMITS')
  const namedBackends = given('BONDED_BACKEND_ADDRESSES')
  const backendAddresses = namedBackends === undefined ? undefined : parseAddresses(namedBackends)
  if (namedBackends !== undefined && backendAddresses === undefined)
    wrong('BONDED_BACKEND_ADDRESSES')
  const webhookHosts = parseWebhookHosts(given('BONDED_WEBHOOK_HOSTS') ?? '')
  if (webhookHosts === undefined) wrong('BONDED_WEBHOOK_HOSTS')
  const pushHosts = parsePushHosts(given('BONDED_PUSH_HOSTS') ?? '')
  if (pushHosts === undefined) wrong('BONDED_PUSH_HOSTS')
  const drainSeconds = given('BONDED_DRAIN_SECONDS') ?? (stage === 'production' ? '5' : '0')
  if (!/^\d{1,2}$/.test(drainSeconds) || Number(drainSeconds) > MAX_DRAIN_SECONDS)
    wrong('BONDED_DRAIN_SECONDS')
  const carriersFile = given('BONDED_CARRIERS')
  const carriers =
    carriersFile === undefined
      ? []
      : readCarriers(carriersFile, { sandbox: stage !== 'production', mistakes })
  const storedTestRoots = join(dataDir, 'test-roots.json')
  const files = {
    BONDED_PHONES: given('BONDED_PHONES'),
    BONDED_TEST_ROOTS:
      given('BONDED_TEST_ROOTS') ??
      (stage !== 'production' && existsSync(storedTestRoots) ? storedTestRoots : undefined),
  }
  const trusted = readTrustedPhones(files)
  for (const { setting, at, expected } of trusted.mistakes) {
    mistakes.push(
      at === ''
        ? { setting, value: JSON.stringify(files[setting]), expected }
        : { setting: `${setting}: ${at}`, value: 'is not valid', expected },
    )
  }
  const related = given('BONDED_RELATED_ORIGINS') ?? 'off'
  if (related !== 'on' && related !== 'off') wrong('BONDED_RELATED_ORIGINS')
  const relatedOrigins = related === 'on'
  const qrContent = readQrContent({ given, wrong, appLinks: trusted.appLinks })
  const rootKeys = readRootKeys({ dataDir, given, wrong })
  if (stage === 'production') {
    const unsafe = (setting: SettingName, value: string, expected: string) =>
      mistakes.push({ setting, value, expected })
    if (given('BONDED_ROOT_KEYS') === undefined && given('BONDED_ROOT_KEYS_COMMAND') === undefined)
      unsafe(
        'BONDED_ROOT_KEYS',
        'is not set',
        'a key or BONDED_ROOT_KEYS_COMMAND in production, a key as k1:<key>. To generate one: openssl rand -base64 32 | tr +/ -_ | tr -d =',
      )
    if (publicOrigin.startsWith('http:'))
      unsafe('BONDED_PUBLIC_ORIGIN', JSON.stringify(publicOrigin), 'an https origin in production')
    if (limits === 'off')
      unsafe('BONDED_RATE_LIMITS', '"off"', 'limits in production; raise them one by one')
    if (files.BONDED_TEST_ROOTS !== undefined)
      unsafe(
        'BONDED_TEST_ROOTS',
        JSON.stringify(files.BONDED_TEST_ROOTS),
        'no test roots in production, because their private keys are not secret',
      )
  }
  if (mistakes.length > 0) throw new ConfigError(mistakes)
  return Object.freeze({
    publicOrigin,
    ...relyingParty,
    port: Number(port),
    host: given('BONDED_HOST') ?? '127.0.0.1',
    databaseFile,
    postgres,
    rootKeys,
    ...receipts,
    appScheme,
    qrContent,
    relatedOrigins,
    dataDir,
    cscaDir,
    metricsPort: metricsPort === undefined ? undefined : Number(metricsPort),
    metricsHost,
    traces,
    environment: stage === 'production' ? 'production' : 'sandbox',
    operator,
    limits: limits ?? USUAL_LIMITS,
    deviceTokenTtlMs: Number(tokenTtlDays) * DAY_MS,
    rejectionRetentionMs: Number(rejectionDays) * DAY_MS,
    bodyBudgetBytes: Number(bodyBudget) * 1024 * 1024,
    trustedProxies: trustedProxies ?? 0,
    connections: connections ?? DEFAULT_CONNECTION_LIMITS,
    backendAddresses,
    webhookHosts: webhookHosts ?? [],
    pushHosts: pushHosts ?? [],
    drainMs: Number(drainSeconds) * 1_000,
    carriers,
    phones: trusted.phones,
    appLinks: trusted.appLinks,
  })
}

/**
 * Every setting with the value that counts and where it comes from, whether or not it can be used.
 */
export function chosenSettings(
  variables: NodeJS.ProcessEnv,
  flags: SettingFlags = {},
): readonly ChosenSetting[] {
  const environment = withSecretFiles(variables, [])
  const file = readFile(flags.BONDED_CONFIG ?? environment.BONDED_CONFIG, [])
  const choose = (name: SettingName): { given: string | undefined; source: SettingSource } => {
    if (flags[name] !== undefined) return { given: flags[name], source: 'flag' }
    if (environment[name] !== undefined) return { given: environment[name], source: 'environment' }
    return { given: file[name], source: file[name] === undefined ? 'default' : 'file' }
  }
  return SETTINGS.map(({ name, fallback, secret }) => {
    const { given, source } = choose(name)
    const value =
      given ??
      fallback
        .replace('<port>', choose('BONDED_PORT').given ?? '8787')
        .replace('<data dir>', choose('BONDED_DATA_DIR').given ?? '.bonded')
    return { name, value: given === undefined ? value : shownValue(name, value), source, secret }
  })
}

/** The program is given in place of the keys, also of those in a file. */
function readRootKeys({
  dataDir,
  given,
  wrong,
}: SettingReader & { readonly dataDir: string }): RootKeySource {
  const [keys, command] = [given('BONDED_ROOT_KEYS'), given('BONDED_ROOT_KEYS_COMMAND')]
  if (command !== undefined && (keys !== undefined || !isProgram(command)))
    wrong('BONDED_ROOT_KEYS_COMMAND')
  if (command !== undefined) return printedRootKeys(command)
  return keys === undefined ? storedRootKeys(dataDir) : givenRootKeys(keys)
}

/** The longest drain: with the time for open requests, the process ends within 25 seconds. */
const MAX_DRAIN_SECONDS = 10
const DAY_MS = 24 * 60 * 60_000

function isTtlDays(text: string): boolean {
  return /^[1-9]\d{0,3}$/.test(text) && Number(text) <= 3_650
}

function isPort(text: string): boolean {
  return /^\d{1,5}$/.test(text) && Number(text) <= 65_535
}

function readLimits(text: string): Limits | 'off' | undefined {
  if (text === 'off') return 'off'
  if (text === 'on') return USUAL_LIMITS
  const own = parseLimits(text)
  return own && { ...USUAL_LIMITS, ...own }
}

/** An https origin, or plain http on this machine. Nothing behind the port, not even a slash. */
function isServiceOrigin(text: string): boolean {
  if (!isExactOrigin(text)) return false
  const { protocol, hostname } = new URL(text)
  return protocol === 'https:' || (protocol === 'http:' && isThisMachine(hostname))
}
