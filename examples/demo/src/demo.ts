import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { randomBytes } from 'node:crypto'
import { Agent } from './agent/agent.ts'
import type { Activity } from './activity/activity.ts'
import { entryOfBank } from './activity/bank-events.ts'
import { createHandler } from './handler.ts'
import type { Site } from './http/guard.ts'
import { serveLive } from './http/live.ts'
import { readFiles } from './pages/files.ts'
import { addressOf, type Origins } from './pages/in-demo.ts'
import { Camera } from './phone/camera.ts'
import { SOFTWARE_PHONE_PATHS } from './phone/software-phone.ts'
import { Attacker } from './relay/attacker.ts'
import { type Sandbox } from './sandbox.ts'
import { BROWSER_WORKFLOW, type Scenario, SCENARIOS } from './scenarios.ts'
import { createStage } from './stage.ts'

/** Only this machine can connect. */
const HOST = '127.0.0.1'

export interface DemoOptions {
  /** 0 selects a free port. */
  readonly port: number
  readonly bankOrigin: string
  readonly serviceOrigin: string
  readonly publishableKey: string
  /** Of the bank's backend, for the tool of its agent. */
  readonly serverCredential: string
  readonly tenantId: string
  readonly workflow: string
  readonly action: string
  readonly sandbox: Sandbox
  readonly activity: Activity
}

/** What the bank shows around its page. */
export interface DemoForBank {
  readonly phoneOrigin: string
  readonly scenarios: readonly [ScenarioLink, ...ScenarioLink[]]
}

interface ScenarioLink {
  readonly name: string
  readonly title: string
  readonly watch: string
  readonly workflow?: string
  readonly url?: string
  readonly script?: string
}

/** The phone pane, the activity strip, the page of the agent, and the relaying page. */
export interface RunningDemo extends AsyncDisposable {
  /** The origin of the phone pane and of the strip. */
  readonly phoneOrigin: string
  /** The origin of the relaying page. */
  readonly relayOrigin: string
  readonly forBank: DemoForBank
  /** Adds an event of the bank's log to the activity. */
  addBankEvent(event: Readonly<Record<string, unknown>>): void
}

/**
 * Starts the demo around a sandbox. It listens on the loopback address only: the phone at
 * `localhost`, and the relaying page at `127.0.0.1`, which browsers treat as another origin.
 *
 * @throws the error of `listen`, such as `EADDRINUSE`
 */
export async function startDemo(options: DemoOptions): Promise<RunningDemo> {
  const { port, sandbox, activity, serviceOrigin, bankOrigin } = options
  const files = await readFiles()
  const server = createServer({ requestTimeout: 10_000, connectionsCheckingInterval: 1_000 })
  await new Promise<void>((resolve, reject) =>
    server.once('error', reject).listen(port, HOST, resolve),
  )
  const { port: actualPort } = server.address() as AddressInfo
  const phoneSite = siteAt(`localhost:${actualPort}`)
  const relaySite = siteAt(`${HOST}:${actualPort}`)
  const origins = { bankOrigin, phoneOrigin: phoneSite.origin, relayOrigin: relaySite.origin }
  let publish = () => {}
  const onChange = () => publish()
  const attacker = new Attacker({ ...options, browserWorkflow: BROWSER_WORKFLOW, onChange })
  const agent = new Agent({ ...options, onChange })
  const camera = new Camera({ sandbox, onChange })
  const stage = createStage({ sandbox, activity, onChange })
  const live = serveLive(server, {
    sites: [phoneSite, relaySite],
    snapshot: (site) =>
      site === relaySite
        ? { relay: attacker.view }
        : {
            code: camera.seen,
            agent: agent.view,
            activity: activity.entries(),
            isServiceRunning: sandbox.isServiceRunning(),
          },
  })
  publish = () => live.publish()
  const stopListening = activity.onChange(onChange)
  server.on(
    'request',
    createHandler({ ...options, files, phoneSite, relaySite, attacker, agent, camera, stage }),
  )
  return {
    phoneOrigin: phoneSite.origin,
    relayOrigin: relaySite.origin,
    forBank: { phoneOrigin: phoneSite.origin, scenarios: linksOf(serviceOrigin, origins) },
    addBankEvent: (event) => {
      const entry = entryOfBank(event)
      if (entry !== undefined) activity.add(entry)
    },
    async [Symbol.asyncDispose]() {
      stopListening()
      live[Symbol.dispose]()
      stage[Symbol.dispose]()
      agent[Symbol.dispose]()
      camera[Symbol.dispose]()
      attacker[Symbol.dispose]()
      await new Promise((resolve) => {
        server.close(resolve)
        server.closeAllConnections()
      })
    },
  }
}

function siteAt(host: string): Site {
  return { host, origin: `http://${host}`, token: randomBytes(32).toString('base64url') }
}

function linksOf(
  serviceOrigin: string,
  origins: Origins,
): readonly [ScenarioLink, ...ScenarioLink[]] {
  const link = (scenario: Scenario): ScenarioLink => {
    const { name, title, watch, workflow, usesPasskey } = scenario
    const url = addressOf(scenario, origins)
    return {
      name,
      title,
      watch,
      ...(workflow !== undefined && { workflow }),
      ...(new URL(url).origin !== origins.bankOrigin && { url }),
      ...(usesPasskey === true && { script: serviceOrigin + SOFTWARE_PHONE_PATHS.passkey }),
    }
  }
  const [first, ...others] = SCENARIOS
  return [link(first), ...others.map(link)]
}
