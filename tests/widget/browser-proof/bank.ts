import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { CreatedSession } from '@bonded/contract'
import type { Page } from 'playwright-core'
import {
  addAuthenticator,
  press,
  screen,
} from '../../../packages/phone-page/tests/phone-browser.ts'
import { Sandbox } from '../../../packages/phone-page/tests/sandbox.ts'
import { SERVICE_HOST, type SecureHosts } from '../../harness/secure-hosts.ts'

/** The name of the bank's page, where there are names. It is of another site than the service. */
const BANK_HOST = 'www.bank-online.test'
export const HOSTS = [SERVICE_HOST, BANK_HOST]

interface BankOptions {
  readonly relatedOrigins?: boolean
  /** Names with TLS; by default, bank and service are on localhost. */
  readonly hosts?: SecureHosts
}

/** A bank whose page shows the hosted widget, and whose workflow requires the browser. */
export class Bank implements AsyncDisposable {
  readonly sandbox: Sandbox
  /** The origin of the page. */
  readonly site: string
  /** Headers of the next responses of the page, such as its Content Security Policy. */
  headers: Readonly<Record<string, string>> = {}
  /** What is before the widget's script. */
  head = ''
  /** The styles of the box that the page reserves. */
  box = 'min-height:440px;max-width:360px'
  locale = 'en'
  /** The site's own script, in place of the widget's; it fills `<main>`. */
  script: string | undefined
  session!: CreatedSession
  readonly #close: () => void

  private constructor(sandbox: Sandbox, site: string, close: () => void) {
    this.sandbox = sandbox
    this.site = site
    this.#close = close
  }

  static async start({ relatedOrigins = true, hosts }: BankOptions = {}): Promise<Bank> {
    let bank: Bank | undefined
    const server = createServer((request, response) => {
      if (bank === undefined) return void response.end()
      for (const [name, value] of Object.entries(bank.headers)) response.setHeader(name, value)
      if (request.method !== 'POST')
        return void response.setHeader('content-type', 'text/html').end(bank.#html())
      const { completion_secret: _secret, ...view } = bank.session
      response.setHeader('content-type', 'application/json').end(JSON.stringify(view))
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { port } = server.address() as AddressInfo
    hosts?.route(BANK_HOST, port)
    const site = hosts === undefined ? `http://localhost:${port}` : `https://${BANK_HOST}`
    const workflows = [{ require: ['browser' as const] }]
    const sandbox = await Sandbox.start({ site, demo: true, workflows, relatedOrigins, hosts })
    bank = new Bank(sandbox, site, () => {
      server.closeAllConnections()
      server.close()
    })
    return bank
  }

  #html(): string {
    const setup = {
      publishableKey: this.sandbox.publishableKey,
      workflow: 'credit_application',
      sessionEndpoint: '/bond-session',
      locale: this.locale,
    }
    const widget = `<script src="${this.sandbox.origin}/v1/pulse.js"></script>
<div data-pulse-widget style="display:block;${this.box}"></div><script>
Pulse.init(${JSON.stringify(setup)})
globalThis.outcome = Pulse.requireBond({ action: 'submit_application', context: { form: 1 } })
</script>`
    const own = `<main></main><script>globalThis.setup = ${JSON.stringify({ ...setup, origin: this.sandbox.origin })};
${this.script}</script>`
    return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Bank</title>
<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">${this.head}
${this.script === undefined ? widget : own}</html>`
  }

  /** A computer that shows the page, and a phone that has opened its request. */
  async opened(prepare: (page: Page) => Promise<unknown> = async () => {}) {
    this.session = await this.sandbox.create()
    const page = await this.sandbox.computer()
    const { devtools, authenticatorId } = await addAuthenticator(page.context(), page)
    await prepare(page)
    await page.goto(this.site)
    await shows(page, 'waiting')
    const phone = await this.sandbox.phone()
    await phone.open(this.session)
    return {
      page,
      phone,
      /** Gives the computer the passkeys of the phone, or of another one. */
      sync: async (of: Pick<typeof phone, 'passkeys'> = phone) => {
        for (const credential of await of.passkeys())
          await devtools.send('WebAuthn.addCredential', { authenticatorId, credential })
      },
      forget: () => devtools.send('WebAuthn.clearCredentials', { authenticatorId }),
      close: async () => {
        await page.context().close()
        await phone.context.close()
      },
    }
  }

  /** The same, after the phone has approved. The computer has that phone's passkey. */
  async approved(prepare?: (page: Page) => Promise<unknown>) {
    const opened = await this.opened(prepare)
    await press(opened.phone.page, 'Approve')
    // A passkey that is copied before it has signed would repeat its counter. A page whose browser
    // cannot answer ends the session at once, so the phone may never show that it waits.
    await screen(opened.phone.page, 'awaiting_browser', 'ended')
    await opened.sync()
    return opened
  }

  /** The same, on a computer that has the passkey of another phone only. */
  async approvedBesideOther() {
    const opened = await this.opened()
    await press(opened.phone.page, 'Approve')
    await screen(opened.phone.page, 'awaiting_browser')
    const other = await this.sandbox.phone()
    await other.open(await this.sandbox.create())
    await opened.sync(other)
    await other.context.close()
    return opened
  }

  /** What the backend reads with the secret of a form. */
  async verificationWith(secret: string | undefined) {
    return (await this.sandbox.stateOf(this.session, secret)).verification
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#close()
    await this.sandbox[Symbol.asyncDispose]()
  }
}

/** Waits until the widget shows a screen. */
export const shows = (page: Page, name: string) =>
  page.locator(`.card[data-screen=${name}]`).waitFor({ timeout: 60_000 })

/** What the page learns. */
export const outcomeOf = (page: Page) =>
  page.evaluate('outcome') as Promise<{
    sessionId: string
    browserSecret?: string
    reason?: string
  }>

/** Damages the signature of the next proof, which the service then rejects. */
export async function tamperNextProof(page: Page): Promise<void> {
  await page.route(
    '**/browser',
    async (route) => {
      const body = route.request().postDataJSON()
      const { signature } = body.assertion.response
      body.assertion.response.signature = `${signature.slice(0, -8)}AAAAAAAA`
      await route.continue({ postData: JSON.stringify(body) })
    },
    { times: 1 },
  )
}
