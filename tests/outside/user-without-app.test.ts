/**
 * A user with an ordinary phone and no app, seen from outside: this file imports nothing of the
 * product. It starts `bonded serve` as a child process, creates a production tenant without
 * any policy of its own, and speaks only public HTTP. Chromium is the bank's page, with the
 * hosted widget, and the phone, with a virtual authenticator that makes unattested passkeys. The
 * phone's motion is a recording of a real one, replayed at its own speed.
 *
 * The process is a sandbox (`BONDED_ENVIRONMENT`), because a process in production needs an https
 * origin. What a key proves depends on the tenant's environment, which is production.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { type Browser, chromium, type Page } from 'playwright-core'
import { MOTION, recordingsMissing } from '../../scripts/continuity/recordings.ts'
import { freePort } from '../../packages/store/tests/servers/free-port.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const BONDED = join(ROOT, 'packages/service/bin/bonded.js')
const CHROMIUM = [process.env.CHROMIUM_PATH, '/usr/bin/chromium', '/usr/bin/google-chrome'].find(
  (path) => path !== undefined && existsSync(path),
)
const BANK = 'https://bank.example'
const WORKFLOW = 'credit_application'
const ACTION = 'submit_application'
/** The members of the session object that the API description has, without the secret. */
const DESCRIBED = words(
  'id state nonce qr_payload qr_svg_url api_base_url universal_link websocket_url ' +
    'challenge_expires_at expires_at workflow action tenant_id verification',
)
/** The phone page's eight seconds, and time for a busy machine. */
const CARRIED_SECONDS = 12

// oxlint-disable-next-line typescript/no-explicit-any -- what an outsider reads is JSON
type Json = any

test('a user without an app is in review until the phone’s key is known', {
  skip: CHROMIUM === undefined ? 'no Chromium' : recordingsMissing,
  timeout: 240_000,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'bonded-outside-'))
  const port = await freePort()
  const { NODE_TEST_CONTEXT: _testContext, ...inherited } = process.env
  const env = { ...inherited, BONDED_DATA_DIR: folder, BONDED_PORT: String(port) }
  const service = spawn(process.execPath, [BONDED, 'serve'], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(service, 'exit')
  let browser: Browser | undefined
  try {
    await ready(service)
    const tenant: Json = JSON.parse(
      execFileSync(
        process.execPath,
        [BONDED, ...words('tenant create --name Bank --environment production --json')].concat(
          words(`--origin ${BANK} --workflow ${WORKFLOW}:${ACTION}`),
        ),
        { env, encoding: 'utf8' },
      ),
    )
    browser = await chromium.launch({
      ...(CHROMIUM === undefined ? {} : { executablePath: CHROMIUM }),
      args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
    })
    const bank = new Bank(`http://localhost:${port}`, tenant)
    const phone = await Phone.open(browser)
    const [one, other] = recordings()

    const first = await visit(browser, { bank, phone, motion: one })
    assert.deepEqual(first.verdict, ['review: confidence'])
    assert.ok(first.session.verification.sensor_continuity.continuity_score >= 0.6)
    assert.deepEqual(first.prompts, ['create', 'get'])

    const { subject_ref } = first.session
    const second = await visit(browser, { bank, phone, motion: other, subject_ref })
    // The bank has accepted nothing of this key yet, and it is younger than a day.
    assert.deepEqual(second.verdict, ['review: confidence'])
    assert.deepEqual(second.prompts, ['get'])
  } finally {
    await browser?.close()
    service.kill('SIGTERM')
    await ended
    rmSync(folder, { recursive: true, force: true })
  }
})

interface Visit {
  readonly bank: Bank
  readonly phone: Phone
  readonly motion: Motion
  /** The user, where the bank knows one. */
  readonly subject_ref?: string
}

/** One request, from the bank's page to the completed session. */
async function visit(browser: Browser, { bank, phone, motion, subject_ref }: Visit) {
  const page = await (await browser.newContext()).newPage()
  const session = await bank.show(page, subject_ref === undefined ? {} : { subject_ref })
  await page.locator('[data-pulse-widget] [data-breached=false] .qr path + path').waitFor()
  const prompts = await phone.approve(session.universal_link, motion)
  const { outcome, verdict } = await page.evaluate<Json>('result')
  assert.deepEqual(outcome, { state: 'bonded', sessionId: session.id })
  const completed = await bank.read(session.id)
  assert.equal(completed.state, 'completed')
  await page.context().close()
  return { session: completed, verdict, prompts }
}

/** The bank: its page, its backend, and its table of pending requests. */
class Bank {
  readonly #service: string
  readonly #tenant: Json
  readonly #pending = new Map<string, { workflow: string; action: string; secret: string }>()

  constructor(service: string, tenant: Json) {
    this.#service = service
    this.#tenant = tenant
  }

  /** Opens the bank's page, which requests a bond. Returns what its backend gave the page. */
  async show(page: Page, named: object): Promise<Json> {
    // The service is on the browser's own machine, which a public page must ask for.
    await page.context().grantPermissions(['local-network-access'], { origin: BANK })
    const { promise: shown, resolve: show } = Promise.withResolvers<Json>()
    await page.route(`${BANK}/**`, async (route) => {
      const request = route.request()
      const { pathname } = new URL(request.url())
      if (pathname === '/submit')
        return route.fulfill({ json: await this.#submit(request.postDataJSON()) })
      if (pathname !== '/bond-session')
        return route.fulfill({ contentType: 'text/html', body: this.#html() })
      const session = await this.#create(named)
      show(session)
      return route.fulfill({ json: session })
    })
    await page.goto(BANK)
    return shown
  }

  async read(id: string): Promise<Json> {
    return (await this.#call('GET', `/sessions/${id}`)).json()
  }

  /** Creates a session. Returns the described members only. */
  async #create(named: object): Promise<Json> {
    const context = { display: [{ label: 'Amount', value: '€12,500.00' }] }
    const body = { workflow: WORKFLOW, action: ACTION, context, ...named }
    const response = await this.#call('POST', '/sessions', {}, body)
    assert.equal(response.status, 201)
    const session = (await response.json()) as Json
    const secret = session.completion_secret
    this.#pending.set(session.id, { workflow: WORKFLOW, action: ACTION, secret })
    return Object.fromEntries(DESCRIBED.map((name) => [name, session[name]]))
  }

  /** The eight steps of the API description before an action is accepted. */
  async #submit(form: Json): Promise<string[]> {
    // 1
    if (!form?.session_id) return ['reject: no session id']
    // 2
    const response = await this.#call('GET', `/sessions/${form.session_id}`)
    if (response.status !== 200) return ['reject: not found']
    const session = (await response.json()) as Json
    if (session.state !== 'bonded') return ['reject: not bonded']
    // 3
    if (session.workflow !== WORKFLOW || session.action !== ACTION) return ['reject: other action']
    if (!(Date.parse(session.expires_at) > Date.now())) return ['reject: expired']
    // 4
    const pending = this.#pending.get(form.session_id)
    if (pending?.workflow !== WORKFLOW || pending.action !== ACTION) return ['reject: not ours']
    // 5
    const { verification: v } = session
    if (!v?.device_possession) return ['reject: no possession']
    if (v.local_auth !== 'verified') return ['reject: no local authentication']
    // 6
    const review: string[] = []
    if ((v.human_presence_confidence ?? v.assertion_confidence ?? 0) < 0.55)
      review.push('review: confidence')
    if (v.carrier?.sim_swap_recent === true) review.push('review: SIM swap')
    if ((v.sensor_continuity?.continuity_score ?? 0) < 0.6) review.push('review: continuity')
    // 7: the workflow requires no passport.
    // 8, after the application or its review is stored
    const headers = { 'X-Bond-Completion-Secret': pending.secret }
    const done = await this.#call('POST', `/sessions/${form.session_id}/form-completed`, headers)
    assert.deepEqual([done.status, ((await done.json()) as Json).ok], [200, true])
    return review
  }

  #call(method: string, path: string, headers: Record<string, string> = {}, body?: object) {
    const type = body === undefined ? {} : { 'Content-Type': 'application/json' }
    const Authorization = `Bearer ${this.#tenant.server_credential}`
    return fetch(`${this.#service}/api/v1${path}`, {
      method,
      headers: { Authorization, ...type, ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  }

  #html(): string {
    const { publishable_key: publishableKey } = this.#tenant
    const setup = { publishableKey, workflow: WORKFLOW, sessionEndpoint: '/bond-session' }
    const style = 'display:block;min-height:168px;max-width:360px'
    return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Bank</title>
<link rel="icon" href="data:,"><script src="${this.#service}/v1/pulse.js"></script>
<div id="bond" data-pulse-widget style="${style}"></div><script>
Pulse.init({ ...${JSON.stringify(setup)}, containerId: 'bond' })
const submit = async (form) =>
  (await fetch('/submit', { method: 'POST', body: JSON.stringify(form) })).json()
globalThis.result = (async () => {
  const [missing] = await submit({})
  if (missing !== 'reject: no session id') throw new Error(missing)
  const outcome = await Pulse.requireBond({ action: '${ACTION}', context: {} })
  return { outcome, verdict: await submit({ session_id: outcome.sessionId }) }
})()
</script></html>`
  }
}

/** A browser with an authenticator of its own, whose passkeys no manufacturer attests. */
class Phone {
  readonly #page: Page
  readonly #prompts: string[] = []
  /** Prompts and responses, for a failure to name. */
  readonly #events: string[] = []

  private constructor(page: Page) {
    this.#page = page
  }

  static async open(browser: Browser): Promise<Phone> {
    const viewport = { width: 390, height: 844 }
    const context = await browser.newContext({ viewport, hasTouch: true, isMobile: true })
    const page = await context.newPage()
    const phone = new Phone(page)
    const devtools = await context.newCDPSession(page)
    await devtools.send('WebAuthn.enable')
    await devtools.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        automaticPresenceSimulation: true,
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
      },
    })
    await page.exposeFunction('prompted', (kind: string) => void phone.#prompts.push(kind))
    await page.exposeFunction('answered', (how: string) => void phone.#events.push(how))
    page.on('response', (response) => {
      const { pathname } = new URL(response.url())
      phone.#events.push(`${response.request().method()} ${pathname}: ${response.status()}`)
    })
    page.on('requestfailed', (request) => {
      phone.#events.push(`${request.url()}: ${request.failure()?.errorText}`)
    })
    await page.addInitScript(`for (const kind of ['create', 'get']) {
      const ask = CredentialsContainer.prototype[kind]
      CredentialsContainer.prototype[kind] = function (options) {
        prompted(kind)
        const answer = ask.call(this, options)
        answer.then(() => answered(kind + ' signed'), (error) => answered(kind + ': ' + error))
        return answer
      }
    }
    DeviceMotionEvent.requestPermission = async () => 'granted'`)
    return phone
  }

  /** Opens the link of the QR code and approves. Returns the prompts that the platform showed. */
  async approve(link: string, motion: Motion): Promise<readonly string[]> {
    const page = this.#page
    this.#prompts.length = 0
    await page.goto(link)
    const [setup, request] = ['setup', 'request'].map((name) =>
      page.locator(`article[data-screen=${name}]`),
    )
    assert.ok(setup && request)
    await setup.or(request).waitFor()
    if (await setup.isVisible())
      await setup.getByRole('button', { name: 'Set up this phone' }).click()
    await request.waitFor()
    await page.evaluate(`(${replay})(${JSON.stringify(motion)}, ${CARRIED_SECONDS})`)
    await page.getByRole('button', { name: 'Approve', exact: true }).click()
    await page
      .locator('article[data-screen=completed]')
      .waitFor()
      .catch(async (cause: unknown) => {
        const seen = [await page.locator('body').innerText(), ...this.#events].join('\n')
        throw new Error(`The phone did not come to the end. It shows: ${seen}`, { cause })
      })
    return [...this.#prompts]
  }
}

/** Readings at 60 Hz, in the order of a `DeviceMotionEvent`: m/s², then °/s. */
type Motion = readonly (readonly number[])[]

/** Runs on the phone's page: reports each reading at its time, and skips those it is late for. */
const replay = `(motion, seconds) => new Promise((done) => {
  const start = performance.now()
  let last = -1
  const timer = setInterval(() => {
    const index = Math.floor(((performance.now() - start) * 60) / 1000)
    if (index >= seconds * 60) {
      clearInterval(timer)
      return done()
    }
    if (index === last) return
    last = index
    const [x, y, z, alpha, beta, gamma] = motion[index]
    dispatchEvent(new DeviceMotionEvent('devicemotion', {
      accelerationIncludingGravity: { x, y, z },
      rotationRate: { alpha, beta, gamma },
      interval: 16,
    }))
  }, 4)
})`

/** Two recordings of more than a minute, in the steps in which a browser reports motion. */
function recordings(): [Motion, Motion] {
  const steps = (value: number) => Math.round(value * 10) / 10
  const degrees = (radians: number) => steps((radians * 180) / Math.PI)
  const found: Motion[] = []
  for (const name of readdirSync(MOTION).toSorted()) {
    if (!name.endsWith('.csv.gz')) continue
    const lines = gunzipSync(readFileSync(join(MOTION, name))).toString('utf8')
    const readings = new Map<string, number[][]>()
    for (const line of lines.trimEnd().split('\n').slice(1)) {
      const [recording = '', _t, ...values] = line.split(',')
      const [ax = 0, ay = 0, az = 0, gx = 0, gy = 0, gz = 0] = values.map(Number)
      const own = readings.get(recording) ?? []
      own.push([steps(ax), steps(ay), steps(az), degrees(gz), degrees(gx), degrees(gy)])
      readings.set(recording, own)
    }
    found.push(...[...readings.values()].filter(({ length }) => length > 60 * 60))
    const [one, other] = found
    if (one && other) return [one, other]
  }
  throw new Error(`fewer than two long recordings in ${MOTION}`)
}

async function ready(service: ChildProcess): Promise<void> {
  assert.ok(service.stdout)
  const { promise, resolve: done, reject } = Promise.withResolvers<void>()
  let output = ''
  // The listener stays, because an unread pipe would block the service.
  service.stdout.on('data', (chunk) => {
    output += String(chunk)
    if (output.includes('ready')) done()
  })
  service.once('exit', (code) => reject(new Error(`serve ended with ${code}: ${output}`)))
  return promise
}

function words(text: string): string[] {
  return text.split(' ')
}
