import { API_PATH, isServerCredential, outsideText, Secret } from '@bonded/contract'
import { type GateClock, type RandomBytes, systemClock, systemRandom } from '../clock.ts'
import { GateError } from '../errors.ts'
import { requireOptions } from '../required.ts'
import type { FetchLike, Service } from './call.ts'

/** How to reach the service. */
export interface ServiceOptions {
  /**
   * The origin of the service, such as `https://bonds.example`, or its API base, which ends in
   * `/api/v1`. Plain http is accepted for this machine only. Undefined, such as a variable of the
   * environment that is not set, throws.
   */
  readonly baseUrl: string | undefined
  /**
   * `sk_beta_…`. Read it from your secret store, and never send it to a browser. Undefined throws.
   */
  readonly serverCredential: string | undefined
  /** Default: the platform's. */
  readonly fetch?: FetchLike
  readonly clock?: GateClock
  readonly random?: RandomBytes
}

/** @throws {GateError} `invalid_configuration` */
export function parseService(options: ServiceOptions): Service {
  refuseBrowser()
  requireOptions('the gate', options, { baseUrl: 'a text', serverCredential: 'a text' })
  return {
    baseUrl: parseBaseUrl(options.baseUrl),
    serverCredential: parseServerCredential(options.serverCredential),
    // Called as a plain function: a browser-like fetch refuses another `this`.
    fetch: options.fetch ?? ((url, init) => fetch(url, init)),
    clock: options.clock ?? systemClock,
    random: options.random ?? systemRandom,
  }
}

/** The hosts of this machine, for which plain http is safe. */
const LOCAL_HOSTS: readonly string[] = ['localhost', '127.0.0.1', '[::1]']

function parseBaseUrl(text = ''): string {
  const [, origin] = /^(https?:\/\/[^/?#@\\\s]+)(?:\/api\/v1)?\/*$/.exec(text) ?? []
  if (origin === undefined || !URL.canParse(origin)) {
    throw wrong(
      `baseUrl must be the origin of the service, such as https://bonds.example, and is “${outsideText(text)}”.`,
    )
  }
  const { protocol, hostname } = new URL(origin)
  if (protocol !== 'https:' && !LOCAL_HOSTS.includes(hostname)) {
    throw wrong('baseUrl must be https: the server credential and the verdicts travel over it.')
  }
  return origin + API_PATH
}

function parseServerCredential(text = ''): Secret {
  if (isServerCredential(text)) return new Secret(text)
  // Never the value: a mistyped credential is nearly a credential.
  if (text.trim() !== text)
    throw wrong(
      'serverCredential begins or ends with a space or a line break. Trim what you read from a file.',
    )
  if (!text.startsWith('sk_'))
    throw wrong('serverCredential is not a server credential: it does not begin with sk_beta_.')
  throw wrong(
    `serverCredential is cut or mistyped: its ${text.length} characters do not match their checksum. Copy all of it again.`,
  )
}

function wrong(message: string): GateError {
  return new GateError('invalid_configuration', message)
}

/** A page that could call the service with the credential would show it to every visitor. */
function refuseBrowser(): void {
  const { document, process } = globalThis as {
    readonly document?: object
    readonly process?: { readonly versions?: { readonly node?: string } }
  }
  // A test in Node can have a document, such as that of jsdom.
  if (document === undefined || process?.versions?.node !== undefined) return
  throw new GateError(
    'invalid_configuration',
    'createGate runs on your backend, not in a browser: revoke a server credential that reached a page. The page uses Pulse, with the publishable key.',
  )
}
