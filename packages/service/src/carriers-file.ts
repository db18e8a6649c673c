import { createPrivateKey, type KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { CarrierSettings } from './adapters/carrier/carrier-client.ts'

/** What an operator is described by in the file of operators, and what each member takes. */
export const CARRIER_MEMBERS = {
  name: 'a word of its own: lower-case letters, digits, _ and -',
  api_root: 'where its CAMARA interfaces begin: an https URL, or http on this machine in a sandbox',
  issuer: 'its OpenID Connect issuer: an https URL, or http on this machine in a sandbox',
  client_id: 'what it calls this service',
  private_key_file:
    'a PEM file with the private key that signs our requests: EC P-256, or RSA of 2048 bits or more; beside this file where the path is relative',
  key_id: 'the `kid` it knows the key by; may be left out',
  flow: 'ciba or jwt-bearer',
  purpose: 'what the data is for, as agreed: one scope such as dpv:FraudPreventionAndDetection',
  number_prefixes:
    'a list of the beginnings of its numbers, such as "+34"; the longest that fits decides, and no other operator has it',
  sim_swap_max_age_hours:
    'for how long a swap counts as recent, 1 to 2400; 240 where it is left out',
} as const
type Member = keyof typeof CARRIER_MEMBERS
const MAY_BE_LEFT_OUT: readonly Member[] = ['key_id', 'sim_swap_max_age_hours']
const USUAL_MAX_AGE_HOURS = 240

/** What tells of a mistake: where it stands, what stands there, what should. */
export type ReportMistake = (at: string, value: string, expected: string) => void

/** The operators of a parsed file. Each mistake is told; an operator with one is left out. */
export function parseCarriers(
  document: unknown,
  { path, sandbox, tell }: { path: string; sandbox: boolean; tell: ReportMistake },
): readonly CarrierSettings[] {
  const listed =
    isObject(document) && Object.keys(document).length === 1 ? document.operators : undefined
  if (!Array.isArray(listed) || listed.length === 0) {
    tell(path, 'cannot be used', 'one member, `operators`: a list of operators')
    return []
  }
  const operators = listed.flatMap(
    (entry, at) =>
      parseOperator(entry, { at: `${path}: operators[${at}]`, path, sandbox, tell }) ?? [],
  )
  for (const twice of repeated(operators.map(({ name }) => name)))
    tell(`${path}: name`, `${JSON.stringify(twice)} twice`, 'a name for each operator')
  for (const twice of repeated(operators.flatMap(({ numberPrefixes }) => numberPrefixes)))
    tell(
      `${path}: number_prefixes`,
      `${JSON.stringify(twice)} twice`,
      'each beginning at one operator',
    )
  return operators
}

function parseOperator(
  entry: unknown,
  { at, path, sandbox, tell }: { at: string; path: string; sandbox: boolean; tell: ReportMistake },
): CarrierSettings | undefined {
  if (!isObject(entry)) {
    tell(at, 'cannot be used', 'an operator')
    return undefined
  }
  let sound = true
  const wrong = (member: Member) => {
    sound = false
    // What stands where a key or a path to one should be might be the key.
    const value = member === 'private_key_file' ? 'cannot be used' : JSON.stringify(entry[member])
    tell(`${at}.${member}`, member in entry ? value : 'is not set', CARRIER_MEMBERS[member])
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
    tell(`${at}.${member}`, 'is set', `one of ${Object.keys(CARRIER_MEMBERS).join(', ')}`)
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

/** Without query, fragment or credentials; encrypted, but for a stand-in on this machine. */
function isBase(text: string, sandbox: boolean): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, hostname, search, hash, username } = new URL(text)
  const local =
    sandbox && protocol === 'http:' && ['localhost', '127.0.0.1', '[::1]'].includes(hostname)
  return (protocol === 'https:' || local) && search === '' && hash === '' && username === ''
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function repeated(words: readonly string[]): readonly string[] {
  return [...new Set(words.filter((word, at) => words.indexOf(word) !== at))]
}
