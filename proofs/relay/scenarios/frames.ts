import type { Frame, Page } from 'playwright-core'
import { PASSED } from '../rig/bank.ts'
import { credentialId } from '../rig/people.ts'
import { drawSecret, promptPage, proofPayload, sendProof } from '../rig/proof.ts'
import {
  frameIn,
  framing,
  frameScreen,
  frameUrl,
  listens,
  screenNow,
  startMessage,
} from '../rig/service-frame.ts'
import { proveFrom } from '../rig/sessions.ts'
import { HOSTS, OF_DOMAIN } from '../rig/stage.ts'
import type { Scenario } from '../scenario.ts'
import { approved, type Approved, confirmIn } from './approved.ts'
import { type Relay, relay, submitRelayed } from './relay.ts'

const EVIL = `https://${HOSTS.evil}`

async function postFromPopup({ service, session, computer }: Approved): Promise<string> {
  const { page } = computer
  await page.goto(EVIL)
  const url = frameUrl(service, service.bank)
  const [popup] = await Promise.all([
    page.waitForEvent('popup'),
    page.evaluate(`globalThis.popup = open('${url}')`),
  ])
  // Once it has loaded, its script has decided where it is.
  await popup.waitForURL(url)
  const shown = await screenNow(popup)
  const { commitment } = drawSecret()
  const message = startMessage(session, { tenant: service.bank, commitment })
  const isReachable = await page.evaluate(
    `popup.closed ? false : (popup.postMessage(${message}, '*'), true)`,
  )
  return isReachable === true ? 'opener_reaches_it' : shown
}

/**
 * What a program with the watch token learns of the user's passkeys: it sends the calls of the page
 * and of the frame with an `Origin` of its choice.
 */
async function readPasskeyId({
  service,
  session,
  passkeys,
}: Approved): Promise<string | undefined> {
  const call = (method: 'GET' | 'POST', path: string, origin: string) =>
    service.call({
      method,
      path: `/sessions/${session.id}${path}`,
      token: service.bank.publishableKey,
      headers: { origin, 'x-bond-watch': session.watch_token },
      ...(method === 'POST' && { body: { parent_origin: service.bank.origin } }),
    })
  const page = await call('GET', '', service.bank.origin)
  const frame = await call('POST', '/browser/frame', service.origin)
  if (frame.reason !== undefined) throw new Error(`the frame got ${frame.reason}`)
  const read = JSON.stringify([page.body, frame.body])
  return passkeys.map(credentialId).find((id) => read.includes(id))
}

/** Has the computer's browser remove a passkey, from the page that it shows. */
async function forget(
  { service, computer, passkeys }: Approved,
  id: string | undefined,
): Promise<string> {
  if (id === undefined) return 'knows_no_id'
  const ended = await computer.page.evaluate(`PublicKeyCredential
    .signalUnknownCredential({ rpId: '${service.rpId}', credentialId: '${id}' })
    .then(() => 'ignored', ({ name }) => name)`)
  return (await computer.passkeys()).length < passkeys.length ? PASSED : String(ended)
}

/** A frame of another site beside the service's, in the tenant's page. */
async function postFromBeside({ service, session, computer }: Approved): Promise<string> {
  const { page } = computer
  await page.goto(framing(service.bank.origin, frameUrl(service, service.bank)))
  await listens(page)
  await page.evaluate(`new Promise((loaded) => {
    const other = document.createElement('iframe')
    other.src = '${EVIL}/'
    other.onload = loaded
    document.body.append(other)
  })`)
  const beside = page.frames().find((frame) => frame.url().startsWith(EVIL))
  const { commitment } = drawSecret()
  const message = startMessage(session, { tenant: service.bank, commitment })
  await beside?.evaluate(`parent.frames[0].postMessage(${message}, '*')`)
  // The page's own message comes later. It starts the frame unless the other one did.
  await page.evaluate(`frames[0].postMessage(${message}, '*')`)
  const frame = frameIn(page, service)
  const shown = frame === undefined ? 'frame_blocked' : await frameScreen(frame)
  return shown === 'confirm' ? 'ignored' : `started: ${shown}`
}

const signIn = (page: Page | Frame, { service, session, passkeys }: Approved, commitment: string) =>
  promptPage(page, {
    rpId: service.rpId,
    credentialIds: passkeys.map(credentialId),
    payload: proofPayload(session, { tenant: service.bank, commitment }),
  })

/** The service's frame, and a tenant's page in a frame, where they do not belong. */
export const FRAMES: readonly Scenario[] = [
  {
    number: 5,
    title: 'A strange page frames the service’s frame, or the tenant’s page',
    today: false,
    async run(stage) {
      const framed = await approved(stage, stage.service('framed'), async (given) => {
        const { page } = given.computer
        const url = frameUrl(given.service, given.service.bank)
        await page.goto(framing(EVIL, url))
        const direct = await confirmIn(page, given)
        await page.goto(framing(EVIL, framing(given.service.bank.origin, url)))
        const within = frameIn(page, given.service) === undefined ? 'frame_blocked' : 'frame_shown'
        // In two of the tenant's own pages, which may frame it.
        await page.goto(framing(given.service.bank.origin, framing(given.service.bank.origin, url)))
        const deep = frameIn(page, given.service)
        const parent = deep?.parentFrame()
        if (!deep || !parent) throw new Error('the frame was blocked two frames deep')
        return { direct, within, deep: await Promise.race([frameScreen(deep), listens(parent)]) }
      })
      const related = await approved(stage, stage.service('related'), async (given) => {
        const { service, session, computer } = given
        await computer.page.goto(framing(EVIL, `${service.bank.origin}/`))
        const inner = computer.page
          .frames()
          .find((each) => each.url().startsWith(service.bank.origin))
        if (inner === undefined) throw new Error('the tenant’s page was not framed')
        const { commitment } = drawSecret()
        const prompted = await signIn(inner, given, commitment)
        return sendProof(service, session, { commitment, prompted })
      })
      return [
        { name: 'the frame', ended: framed.direct, stoppedBy: 'frame_blocked' },
        { name: 'through the tenant’s page', ended: framed.within, stoppedBy: 'frame_blocked' },
        { name: 'two frames deep', ended: framed.deep, stoppedBy: 'misplaced' },
        { name: 'the page itself', ended: related, stoppedBy: 'cross_origin' },
      ]
    },
  },
  {
    number: 6,
    title: 'A strange page opens it as a popup, and posts messages',
    today: false,
    run: (stage) =>
      approved(stage, stage.service('framed'), async (given) => [
        { name: 'popup', ended: await postFromPopup(given), stoppedBy: 'misplaced' },
        { name: 'frame beside it', ended: await postFromBeside(given), stoppedBy: 'ignored' },
      ]),
  },
  {
    number: 15,
    title: 'A sibling subdomain',
    today: false,
    async run(stage) {
      const sibling = `https://${HOSTS.sibling}/`
      const related = await approved(stage, stage.service('related'), async (given) => {
        await given.computer.page.goto(sibling)
        return proveFrom(given.computer, given)
      })
      await using domain = await stage.newService(OF_DOMAIN)
      const suffix = await approved(stage, domain, async (given) => {
        await given.computer.page.goto(sibling)
        return proveFrom(given.computer, given)
      })
      const mode = 'with'
      const gateOrigin = `https://${HOSTS.sibling}`
      // The user confirms at the page, and the form goes to the gate of another page.
      const confirmAndSubmit = async (relayed: Relay) => {
        await relayed.victim.phone.approve(relayed.session)
        await relayed.attacker.addPasskeys(await relayed.victim.phone.copyPasskeys())
        return submitRelayed(relayed)
      }
      const elsewhere = await relay(stage, { mode, gateOrigin }, confirmAndSubmit)
      const half = await relay(stage, { mode, gate: 'half' }, confirmAndSubmit)
      return [
        { name: 'of the page', ended: related, stoppedBy: 'SecurityError' },
        { name: 'in the relying party’s domain', ended: suffix, stoppedBy: 'origin' },
        { name: 'whose gate takes the form', ended: elsewhere, stoppedBy: 'browser_not_proved' },
        { name: 'at a gate that names none', ended: half, stoppedBy: 'browser_not_proved' },
      ]
    },
  },
  {
    number: 16,
    title: 'Another tenant’s approved origin, or its frame path',
    today: false,
    async run(stage) {
      const page = `https://${HOSTS.otherTenant}`
      const related = await approved(stage, stage.service('related'), async (given) => {
        const { service, session, computer } = given
        await computer.page.goto(page)
        const { commitment } = drawSecret()
        const prompted = await signIn(computer.page, given, commitment)
        const send = (origin: string) =>
          sendProof(service, session, { commitment, prompted, origin })
        const claimed = await sendProof(service, session, {
          commitment,
          prompted,
          parentOrigin: service.bank.origin,
        })
        return { own: await send(page), forged: await send(service.bank.origin), claimed }
      })
      const framed = await approved(stage, stage.service('framed'), async (given) => {
        const { service, session, computer } = given
        const [other] = service.others
        if (other === undefined) throw new Error('the service has one tenant')
        await computer.page.goto(framing(page, frameUrl(service, service.bank)))
        const foreign = await confirmIn(computer.page, given)
        await computer.page.goto(framing(page, frameUrl(service, other)))
        const own = frameIn(computer.page, service)
        if (own === undefined) throw new Error('the tenant’s own frame was blocked')
        // Even a script of the frame's own origin cannot sign for the page of another tenant.
        const { commitment } = drawSecret()
        const prompted = await signIn(own, given, commitment)
        const scripted = await sendProof(service, session, {
          commitment,
          prompted,
          origin: service.origin,
          parentOrigin: service.bank.origin,
        })
        const opened = await service.call({
          method: 'POST',
          path: `/sessions/${session.id}/browser/frame`,
          token: service.bank.publishableKey,
          headers: { origin: service.origin, 'x-bond-watch': session.watch_token },
          body: { parent_origin: page },
        })
        return { foreign, scripted, started: await confirmIn(computer.page, given), opened }
      })
      return [
        { name: 'its page', ended: related.own, stoppedBy: 'origin_not_allowed' },
        { name: 'its page, forged Origin', ended: related.forged, stoppedBy: 'origin' },
        {
          name: 'it says it is the frame',
          ended: related.claimed,
          stoppedBy: 'origin_not_allowed',
        },
        { name: 'the frame of the bank', ended: framed.foreign, stoppedBy: 'frame_blocked' },
        { name: 'its own frame', ended: framed.started, stoppedBy: 'frame_ended' },
        { name: 'a script in it', ended: framed.scripted, stoppedBy: 'cross_origin' },
        {
          name: 'the frame’s call',
          ended: framed.opened.reason ?? PASSED,
          stoppedBy: 'origin_not_allowed',
        },
      ]
    },
  },
  {
    number: 20,
    title: 'A page has the browser forget the user’s passkey',
    today: false,
    async run(stage) {
      const ids = await approved(stage, stage.service('framed'), readPasskeyId)
      const framed = await approved(stage, stage.service('framed'), async (given) => {
        const [passkey] = given.passkeys
        await given.computer.page.goto(`https://${HOSTS.otherTenant}`)
        return forget(given, passkey && credentialId(passkey))
      })
      await using domain = await stage.newService({ ...OF_DOMAIN, relatedOrigins: false })
      const asked = await approved(stage, domain, async (given) => {
        await given.computer.page.goto(`${given.service.bank.origin}/`)
        return proveFrom(given.computer, given)
      })
      // Browsers let every host below the relying party id ask for the removal, without a prompt.
      const below = await approved(stage, domain, async (given) => {
        const id = await readPasskeyId(given)
        await given.computer.page.goto(`https://${HOSTS.sibling}`)
        return forget(given, id)
      })
      return [
        { name: 'reads the passkey’s id', ended: ids ?? 'withheld', stoppedBy: 'withheld' },
        { name: 'has it forgotten', ended: framed, stoppedBy: 'SecurityError' },
        { name: 'asks for it itself', ended: asked, stoppedBy: 'origin' },
        { name: 'a host below the RP ID', ended: below, stoppedBy: 'knows_no_id' },
      ]
    },
  },
]
