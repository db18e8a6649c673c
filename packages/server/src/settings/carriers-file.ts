import { createPrivateKey, type KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { CarrierSettings } from '../adapters/carrier/carrier-client.ts'
import { isThisMachine } from './this-machine.ts'

/** The members of a carrier in the carriers file, and the values that they accept. */
export const CARRIER_MEMBERS = {
  name: 'a unique name: lower-case letters, digits, _ and -',
  api_root: 'base URL of its CAMARA APIs: https, or http on this machine in a sandbox',
  issuer: 'its OpenID Connect issuer: https, or http on this machine in a sandbox',
  client_id: 'client id of this service at the carrier',
  private_key_file:
    'a PEM file with the private key that signs requests: EC P-256, or RSA of 2048 bits or more; a relative path starts at the folder of this file',
  key_id: 'the `kid` of the key at the carrier; optional',
  flow: 'ciba or jwt-bearer',
  purpose: 'the agreed purpose of the data: one scope, such as dpv:FraudPreventionAndDetection',
  number_prefixes:
    'a list of prefixes of its phone numbers, such as "+34"; the longest match decides, and a prefix belongs to one carrier only',
  sim_swap_max_age_hours:
    'the age below which a SIM swap is recent, 1 to 2400 hours; 240 by default',
} as const
type Member = keyof typeof CARRIER_MEMBERS
const MAY_BE_LEFT_OUT: readonly Member[] = ['key_id', 'sim_swap_max_age_hours']
const USUAL_MAX_AGE_HOURS = 240

/** Reports a mistake: where it is, the value, and what was expected. */
export type ReportMistake = (at: string, value: string, expected: string) => void

/** The carriers of a parsed file. Each mistake is reported, and its carrier is left out. */
export function parseCarriers(
  document: unknown,
  { path, sandbox, report }: { path: string; sandbox: boolean; report: ReportMistake },
): readonly CarrierSettings[] {
  const listed =
    isObject(document) && Object.keys(document).length === 1 ? document.carriers : undefined
  if (!Array.isArray(listed) || listed.length === 0) {
    report(path, 'is not valid', 'one member, `carriers`: a list of carriers')
    return []
  }
  const carriers = listed.flatMap(
    (entry, index) =>
      parseCarrier(entry, { at: `${path}: carriers[${index}]`, path, sandbox, report }) ?? [],
  )
  for (const twice of repeated(carriers.map(({ name }) => name)))
    report(`${path}: name`, `${JSON.stringify(twice)} twice`, 'a different name for each carrier')
  for (const twice of repeated(carriers.flatMap(({ numberPrefixes }) => numberPrefixes)))
    report(
      `${path}: number_prefixes`,
      `${JSON.stringify(twice)} twice`,
      'each prefix at one carrier only',
    )
  return carriers
}

function parseCarrier(
  entry: unknown,
  {
    at,
    path,
    sandbox,
    report,
  }: { at: string; path: string; sandbox: boolean; report: ReportMistake },
): CarrierSettings | undefined {
  if (!isObject(entry)) {
    report(at, 'is not valid', 'a carrier')
    return undefined
  }
  let sound = true
  const wrong = (member: Member) => {
    sound = false
    // The value may be the key itself instead of its path, so it is not printed.
    const value = member === 'private_key_file' ? 'is not valid' : JSON.stringify(entry[member])
    report(`${at}.${member}`, member in entry ? value : 'is not set', CARRIER_MEMBERS[member])
  }
  const text = (member: Member, fits: (text: string) => boolean): string => {
    const value = entry[member]
    if (typeof value === 'string' && fits(value)) return value
    if (value !== undefined || !MAY_BE_LEFT_OUT.includes(member)) wrong(member)
    return ''
  }
  for (const member of Object.keys(entry)) {
    if (member in CARRIER_MEMBERS) continue
    sound = false
    report(`${at}.${member}`, 'is set', `one of ${Object.keys(CARRIER_MEMBERS).join(', ')}`)
  }

  const flow = text('flow', (word) => word === 'ciba' || word === 'jwt-bearer')
  const keyId = text('key_id', (word) => word !== '')
  const keyFile = text('private_key_file', (file) => file !== '')
  const key = keyFile === '' ? undefined : keyFrom(keyFile, path)
  if (keyFile !== '' && key === undefined) wrong('private_key_file')
  const prefixes: unknown = entry.number_prefixes
  const areNumbers =
    Array.isArray(prefixes) &&
    prefixes.length > 0 &&
    prefixes.every((prefix) => /^\+[1-9]\d{0,13}$/.test(String(prefix)))
  if (!areNumbers) wrong('number_prefixes')
  const maxAge: unknown = entry.sim_swap_max_age_hours ?? USUAL_MAX_AGE_HOURS
  if (!(typeof maxAge === 'number' && Number.isInteger(maxAge) && maxAge >= 1 && maxAge <= 2400))
    wrong('sim_swap_max_age_hours')

  const settings = {
    name: text('name', (word) => /^[a-z][a-z0-9_-]{0,63}$/.test(word)),
    apiRoot: text('api_root', (url) => isBase(url, sandbox)).replace(/\/$/, ''),
    issuer: text('issuer', (url) => isBase(url, sandbox)),
    clientId: text('client_id', (word) => /^[\x21-\x7e]{1,255}$/.test(word)),
    purpose: text('purpose', (word) => /^dpv:[A-Za-z]{1,64}$/.test(word)),
    flow: flow === 'ciba' ? ('ciba' as const) : ('jwt-bearer' as const),
    keyId: keyId === '' ? undefined : keyId,
    numberPrefixes: areNumbers ? prefixes.map(String) : [],
    simSwapMaxAgeHours: Number(maxAge),
  }
  return sound && key !== undefined ? { ...settings, key } : undefined
}

function keyFrom(file: string, beside: string): KeyObject | undefined {
  try {
    const key = createPrivateKey(readFileSync(resolve(dirname(beside), file)))
    const { namedCurve, modulusLength = 0 } = key.asymmetricKeyDetails ?? {}
    const usable =
      key.asymmetricKeyType === 'ec'
        ? namedCurve === 'prime256v1'
        : key.asymmetricKeyType === 'rsa' && modulusLength >= 2048
    return usable ? key : undefined
  } catch {
    return undefined
  }
}

/** A URL without query, fragment or credentials: https, or http on this machine in a sandbox. */
function isBase(text: string, sandbox: boolean): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, hostname, search, hash, username } = new URL(text)
  const local = sandbox && protocol === 'http:' && isThisMachine(hostname)
  return (protocol === 'https:' || local) && search === '' && hash === '' && username === ''
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function repeated(words: readonly string[]): readonly string[] {
  return [...new Set(words.filter((word, index) => words.indexOf(word) !== index))]
}
