import type { IncomingMessage, ServerResponse } from 'node:http'
import { describeFailure } from '@bonded/contract'
import type { Agent } from './agent/agent.ts'
import type { DemoOptions } from './demo.ts'
import { readFields } from './http/body.ts'
import { crossSiteRejection, type Site, siteOf } from './http/guard.ts'
import { html, json, type Reply, reject, send } from './http/reply.ts'
import { activityPage } from './pages/activity-page.ts'
import { agentPage } from './pages/agent-page.ts'
import { phonePage } from './pages/phone-page.ts'
import type { Origins } from './pages/in-demo.ts'
import { relayPage } from './pages/relay-page.ts'
import type { Camera } from './phone/camera.ts'
import { SOFTWARE_PHONE_PATHS } from './phone/software-phone.ts'
import { type Attacker, PROTECTIONS } from './relay/attacker.ts'
import { findScenario } from './scenarios.ts'
import type { Stage } from './stage.ts'

export interface HandlerOptions extends DemoOptions {
  readonly files: ReadonlyMap<string, Reply>
  readonly phoneSite: Site
  readonly relaySite: Site
  readonly agent: Agent
  readonly camera: Camera
  readonly attacker: Attacker
  readonly stage: Stage
}

type Fields = Readonly<Record<string, unknown>>
type Post = (fields: Fields) => Promise<Reply> | Reply

const DONE = json(200, {})
const NOT_FOUND = reject(404, 'not_found', 'This page does not exist.')
const UNKNOWN_NAME = reject(400, 'name_unknown', 'Send the name of a scenario.')
/** A name as the bank accepts it at most. */
const MAX_NAME_LENGTH = 80

/** Creates the request listener of the demo. */
export function createHandler(options: HandlerOptions) {
  const { phoneSite, relaySite } = options
  const policies = new Map([
    [phoneSite, phonePolicy(options)],
    [relaySite, relayPolicy(options)],
  ])
  return (request: IncomingMessage, response: ServerResponse): void => {
    const site = siteOf(request, [phoneSite, relaySite])
    const reply = 'token' in site ? respond(options, site, request) : Promise.resolve(site)
    const policy = ('token' in site && policies.get(site)) || `default-src 'none'`
    reply
      .catch((failure: unknown) => {
        process.stderr.write(`the demo failed: ${describeFailure(failure)}\n`)
        return reject(500, 'failed', 'The demo failed. Reload the page.')
      })
      .then((reply) => {
        if (!request.complete) response.setHeader('connection', 'close')
        send(response, reply, policy)
        request.resume()
      })
      // A browser that disconnected needs no response.
      .catch(() => response.destroy())
  }
}

async function respond(
  options: HandlerOptions,
  site: Site,
  request: IncomingMessage,
): Promise<Reply> {
  const [path = '/', query = ''] = (request.url ?? '/').split('?')
  const isRelay = site === options.relaySite
  if (request.method === 'GET' || request.method === 'HEAD')
    return (await (isRelay ? relayGet(options, path) : phoneGet(options, path, query))) ?? NOT_FOUND
  const post = isRelay ? relayPost(options, path) : phonePost(options, path)
  if (post === undefined) return NOT_FOUND
  if (request.method !== 'POST') return reject(405, 'method_not_allowed', 'Use POST here.')
  const rejection = crossSiteRejection(request, site)
  if (rejection !== undefined) return rejection
  const body = await readFields(request)
  return 'fields' in body ? post(body.fields) : body
}

async function phoneGet(
  options: HandlerOptions,
  path: string,
  query: string,
): Promise<Reply | undefined> {
  const { files, phoneSite, serviceOrigin } = options
  if (path === '/' || path === '/phone')
    return html(phonePage({ token: phoneSite.token, serviceOrigin }))
  if (path === '/activity') return html(activityPage(phoneSite))
  if (path === '/agent') {
    const scenario = findScenario(new URLSearchParams(query).get('scenario'))
    if (scenario?.trick === undefined) return undefined
    return html(agentPage(scenario, { ...originsOf(options), token: phoneSite.token }))
  }
  if (path.startsWith('/relay')) return undefined
  return files.get(path) ?? bankStyle(options, path)
}

function phonePost(options: HandlerOptions, path: string): Post | undefined {
  const { agent, camera, stage } = options
  switch (path) {
    case '/phone/scan':
      return async () => {
        const code = await camera.look()
        return code === undefined
          ? reject(409, 'no_code', 'No page shows a QR code.')
          : onPhone(code)
      }
    case '/scenario':
      return async ({ name }) => {
        const scenario = findScenario(name)
        if (scenario === undefined) return UNKNOWN_NAME
        await stage.choose(scenario)
        const code =
          scenario.trick === undefined
            ? await camera.look().catch(() => undefined)
            : agent.view.offer
        return json(200, {
          motion: scenario.motion,
          ...(code && { code: { createdAtMs: code.createdAtMs } }),
        })
      }
    case '/agent/run':
      return ({ name, subject }) => {
        const trick = findScenario(name)?.trick
        if (trick === undefined) return UNKNOWN_NAME
        return json(200, { run: agent.start(trick, typeof subject === 'string' ? subject : null) })
      }
    case '/agent/open':
      return async () => {
        const opened = await agent.open()
        return opened === undefined
          ? reject(409, 'nothing_waits', 'No request waits for this phone.')
          : onPhone(opened)
      }
    case '/service/stop':
      return async () => {
        await stage.stopService()
        return DONE
      }
    case '/service/start':
      return async () => {
        await stage.startService()
        return DONE
      }
    default:
      return undefined
  }
}

/** What the phone opens: the page of the service with a software key. */
function onPhone({ session_id, link }: { readonly session_id: string; readonly link: string }) {
  return json(200, { session_id, link: link.replace('/bond?', `${SOFTWARE_PHONE_PATHS.page}?`) })
}

function originsOf({ bankOrigin, phoneSite, relaySite }: HandlerOptions): Origins {
  return { bankOrigin, phoneOrigin: phoneSite.origin, relayOrigin: relaySite.origin }
}

/** The bank's own styles: a relaying page looks like the bank because it serves them. */
async function bankStyle({ bankOrigin }: HandlerOptions, path: string) {
  if (path !== '/page.css' && path !== '/demo.css') return undefined
  const copied = await fetch(bankOrigin + path, { signal: AbortSignal.timeout(5_000) })
  return { status: copied.status, type: 'text/css; charset=utf-8', body: await copied.text() }
}

async function relayGet(options: HandlerOptions, path: string): Promise<Reply | undefined> {
  const { attacker, files, relaySite } = options
  switch (path) {
    case '/':
      return html(relayPage({ ...options, ...originsOf(options), token: relaySite.token }))
    case '/relay/qr.svg': {
      const picture = await attacker.picture()
      return picture === undefined
        ? undefined
        : { status: 200, type: 'image/svg+xml; charset=utf-8', body: picture }
    }
    case '/relay.css':
    case '/relay.js':
    case '/live.js':
      return files.get(path)
    default:
      return bankStyle(options, path)
  }
}

function relayPost({ attacker }: HandlerOptions, path: string): Post | undefined {
  switch (path) {
    case '/relay/start':
      return async ({ name, protection }) => {
        const known = PROTECTIONS.find((each) => each === protection) ?? 'phone'
        const isName = typeof name === 'string' && name !== '' && name.length <= MAX_NAME_LENGTH
        const session = await attacker.start(isName ? name : 'Ada Lovelace', known)
        return session === undefined
          ? reject(503, 'bank_unavailable', 'The attacker could not apply at the bank.')
          : json(200, { session })
      }
    case '/relay/refused':
      return async ({ reason }) => {
        attacker.recordWidget(typeof reason === 'string' ? reason.slice(0, 64) : 'unknown')
        await attacker.copyCode()
        return DONE
      }
    case '/relay/copy':
      return async () => {
        await attacker.copyCode()
        return DONE
      }
    case '/relay/asked':
      return async ({ reason }) => {
        await attacker.useOwnPasskey(typeof reason === 'string' ? reason.slice(0, 64) : 'unknown')
        return DONE
      }
    default:
      return undefined
  }
}

/** The phone pane and the strip may be framed by the three pages that show them. */
function phonePolicy({ phoneSite, relaySite, bankOrigin, serviceOrigin }: HandlerOptions): string {
  return [
    `default-src 'none'`,
    `script-src 'self'`,
    `style-src 'self'`,
    `img-src data:`,
    `connect-src 'self' ws://${phoneSite.host}`,
    `frame-src 'self' ${serviceOrigin}`,
    `base-uri 'none'`,
    `form-action 'none'`,
    `frame-ancestors 'self' ${bankOrigin} ${relaySite.origin}`,
    `require-trusted-types-for 'script'`,
    `trusted-types 'none'`,
  ].join('; ')
}

function relayPolicy({ phoneSite, relaySite, serviceOrigin }: HandlerOptions): string {
  return [
    `default-src 'none'`,
    `script-src 'self' ${serviceOrigin}`,
    `style-src 'self'`,
    `img-src 'self' ${serviceOrigin} data:`,
    `connect-src 'self' ws://${relaySite.host} ${serviceOrigin} ${serviceOrigin.replace(/^http/, 'ws')}`,
    `frame-src ${phoneSite.origin}`,
    `base-uri 'none'`,
    `form-action 'none'`,
    `frame-ancestors 'none'`,
  ].join('; ')
}
