import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser } from 'playwright-core'
import type { DeviceId } from '@bonded/contract'
import { StartedParts } from '@bonded/cli/node/started-parts'
import { type Bank, type BankOptions, openBank } from './bank.ts'
import { openChromium } from './chromium.ts'
import { type Front, startFront } from './front.ts'
import { listDevices } from '@bonded/core/operations/admin/devices'
import { type Computer, credentialId, openComputer, openPhone, type Phone } from './people.ts'
import {
  ACTION,
  type RelayService,
  type ServedFiles,
  type ServiceKind,
  startRelayService,
  WORKFLOWS,
} from './relay-service.ts'

/** The hosts of a run. Each is a site of its own, but for those below `bank.test`. */
export const HOSTS = {
  bank: 'www.bank.test',
  /** Another site of the bank's domain, which someone has taken over. */
  sibling: 'shop.bank.test',
  /** The service of one organization, where pages prove themselves. */
  related: 'bond.bank.test',
  /** The service of several organizations, where the service's frame proves the page. */
  framed: 'svc.test',
  /** A service whose relying party id is the bank's domain. */
  domain: 'id.bank.test',
  otherTenant: 'tenant2.test',
  evil: 'evil.test',
} as const

/** A service whose relying party id is the bank's domain. */
export const OF_DOMAIN: ServiceKind = {
  host: HOSTS.domain,
  rpId: 'bank.test',
  relatedOrigins: true,
  tenants: [HOSTS.bank],
}

/** How a page's browser proves itself. */
export type Way = 'related' | 'framed'

/** A user: a phone that is set up at a service, and an account that has bonded with it. */
export interface Person {
  readonly phone: Phone
  /** Its id at the service. */
  readonly deviceId: DeviceId
  /** The reference to the user at the bank. */
  readonly subjectRef: string
}

/** Everything that one round needs. */
export interface Stage extends AsyncDisposable {
  readonly front: Front
  readonly browser: Browser
  service(way: Way): RelayService
  /** A service of its own, for a scenario that moves its time. */
  newService(kind: ServiceKind): Promise<RelayService>
  /** The victim at a service: the same user in every scenario of the round. */
  victim(service: RelayService): Promise<Person>
  newPerson(service: RelayService): Promise<Person>
  /** Leads a host to a site with empty pages, which replaces the bank's. */
  leadToBlankSite(host: string): void
  openBank(service: RelayService, options: BankOptions): Promise<Bank>
  /** A computer without passkeys. */
  computer(options?: Parameters<typeof openComputer>[1]): Promise<Computer>
}

/** Starts a browser, both services, and the sites of strangers. */
export async function openStage(files: ServedFiles): Promise<Stage> {
  await using parts = new StartedParts()
  const front = parts.use(await startFront(Object.values(HOSTS)))
  const browser = await openChromium(front)
  parts.use({ [Symbol.asyncDispose]: () => browser.close() })
  const blank = await startBlankSite()
  parts.defer(() => {
    blank.closeAllConnections()
    blank.close()
  })
  const { port } = blank.address() as AddressInfo
  const leadToBlankSite = (host: string) => front.lead(host, port)
  for (const host of [HOSTS.evil, HOSTS.sibling, HOSTS.otherTenant]) leadToBlankSite(host)
  const tenants = [HOSTS.bank, HOSTS.otherTenant]
  const start = (kind: ServiceKind) => startRelayService({ front, files }, kind)
  const services = {
    related: parts.use(await start({ host: HOSTS.related, relatedOrigins: true, tenants })),
    framed: parts.use(await start({ host: HOSTS.framed, relatedOrigins: false, tenants })),
  }
  const victims = new Map<RelayService, Promise<Person>>()
  const newPerson = (service: RelayService) => enroll(browser, service)
  const owned = parts.move()
  return {
    front,
    browser,
    service: (way) => services[way],
    newService: start,
    newPerson,
    leadToBlankSite,
    victim(service) {
      const known = victims.get(service) ?? newPerson(service)
      victims.set(service, known)
      return known
    },
    openBank: (service, options) => openBank(front, service, options),
    computer: (options) => openComputer(browser, options),
    [Symbol.asyncDispose]: () => owned[Symbol.asyncDispose](),
  }
}

/** A phone's first bond with the bank, as a user does it once. */
async function enroll(browser: Browser, service: RelayService): Promise<Person> {
  const phone = await openPhone(browser)
  const { body } = await service.call({
    method: 'POST',
    path: '/sessions',
    token: service.bank.serverCredential,
    headers: { 'idempotency-key': `enroll-${randomUUID()}` },
    body: { workflow: WORKFLOWS.without, action: ACTION },
  })
  const session = body as Parameters<Phone['approve']>[0] & { readonly id: never }
  await phone.approve(session)
  const { subject_ref } = await service.read(session)
  if (subject_ref === null) throw new Error('the first bond has no user')
  const [device] = await listDevices(service.operator, { limit: 1 })
  if (device === undefined) throw new Error('the service has no device')
  // A registration whose response was lost leaves a passkey that the service does not accept.
  const passkeys = await phone.passkeys()
  await phone.replacePasskeys(passkeys.filter((each) => credentialId(each) === device.keyId))
  return { phone, deviceId: device.id, subjectRef: subject_ref }
}

/** A site whose pages are empty, but for what a scenario does in them. */
async function startBlankSite(): Promise<Server> {
  const site = createServer((request, response) => {
    const { searchParams } = new URL(request.url ?? '/', 'http://blank')
    const frame = searchParams.get('frame')?.replaceAll('&', '&amp;').replaceAll('"', '&quot;')
    response.setHeader('content-type', 'text/html').end(`<!doctype html><title>Page</title>
<link rel="icon" href="data:,"><script>
globalThis.messages = []
addEventListener('message', ({ data, origin }) => messages.push({ data, origin }))
</script>${frame ? `<iframe src="${frame}" allow="publickey-credentials-get" width="400" height="300"></iframe>` : ''}`)
  }).listen(0, '127.0.0.1')
  await once(site, 'listening')
  return site
}
