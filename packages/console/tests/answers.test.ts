import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import pino from 'pino'
import { assertText } from '../../../tests/harness/expected-text.ts'
import { SESSION_COOKIE } from '../src/answer.ts'
import type { Role } from '../src/roles.ts'
import { serveConsole } from '../src/server.ts'
import type { SignedIn } from '../src/sessions.ts'
import type { SignInParts } from '../src/sign-in.ts'
import { STYLE } from '../src/style.ts'
import { drawnScene } from './drawn-scene.ts'
import { send } from './http-client.ts'

const ORIGIN = 'https://console.example'
const FORM = { origin: ORIGIN, 'content-type': 'application/x-www-form-urlencoded' }

test('each answer of the console has its status, its headers, its text, and its audit entry', async () => {
  await using scene = await drawnScene()
  const { h, ids, named } = scene
  const parts: SignInParts[] = []
  let isCurrent = true
  await using running = await serveConsole({
    service: h.service,
    origin: ORIGIN,
    signIn: (given) => {
      parts.push(given)
      return { answer: async () => undefined, isCurrent: () => isCurrent }
    },
    host: '127.0.0.1',
    port: 0,
    log: pino({ level: 'silent' }),
  })
  const sessions = parts[0]?.sessions
  assert.ok(sessions)
  const signIn = (role: Role, provedAt: number | undefined = h.clock.now()) => {
    const label = `Ada of ${role}`
    const id = sessions.begin(
      { subject: role, issuer: 'https://login.example', label, role, provedAt },
      undefined,
    )
    const { formToken } = sessions.find(id, { isUsed: false }) as SignedIn
    return { cookie: `${SESSION_COOKIE}=${id}`, token: formToken }
  }
  const audited = async () => {
    const all = await h.service.store.read(({ audit }) => audit.list({ limit: 1_000 }))
    return all.map((entry) =>
      [entry.action, entry.actorKind, entry.actor, entry.issuer, entry.address, entry.result]
        .concat([entry.reason ?? '', entry.target])
        .join(' '),
    )
  }
  let known = (await audited()).length
  const lines: string[] = []
  const ask = async (
    what: string,
    path: string,
    given: { method?: string; headers?: Record<string, string>; body?: string } = {},
  ) => {
    const headers = { host: 'console.example', ...given.headers }
    const page = await send(`http://127.0.0.1:${running.port}${path}`, { ...given, headers })
    // Node writes the others.
    const own = Object.fromEntries(
      Object.entries(page.headers).filter(
        ([name]) => !/^(?:date|connection|keep-alive|transfer-encoding)$/.test(name),
      ),
    )
    const title = /<h1>(.*?)<\/h1>/.exec(page.text)?.[1]
    const text = [...page.text.matchAll(/<p>(.*?)<\/p>/g)].map(([, part]) => part).join(' | ')
    const shown =
      what === 'all headers'
        ? own
        : {
            location: own['location'],
            cookie: own['set-cookie'],
            policy: String(own['content-security-policy']).includes('connect-src')
              ? 'live'
              : undefined,
          }
    const all = await audited()
    lines.push(
      `${what}: ${page.status} ${JSON.stringify(shown)}\n  ${title}: ${text.slice(0, 400)}`,
      ...all.slice(known).map((entry) => `  recorded: ${entry}`),
    )
    known = all.length
    return page
  }
  const post = (path: string, cookie: string, form: object, headers: object = {}) =>
    [
      path,
      {
        method: 'POST',
        headers: { ...FORM, cookie, ...headers },
        body: new URLSearchParams(form as Record<string, string>).toString(),
      },
    ] as const

  const [viewer, support, admin] = [signIn('viewer'), signIn('support'), signIn('admin')]
  const cookieOf = ({ cookie }: typeof viewer) => ({ headers: { cookie } })
  await ask('all headers', '/', cookieOf(viewer))
  await ask('all headers', STYLE.path)
  await ask('no session', '/tenants?q=a%20b')
  await ask('no session, by a form', ...post(`/sessions/${ids.waiting}/end`, '', { token: 'x' }))
  await ask('signed out', '/signed-out')
  await ask('another host', '/', { headers: { host: 'other.example' } })
  await ask('another method', '/', { method: 'PUT' })
  await ask('another site', '/', { headers: { 'sec-fetch-site': 'cross-site' } })
  const visit = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }
  await ask('a link of another site', '/', {
    headers: { 'sec-fetch-site': 'cross-site', ...visit },
  })
  await ask('a frame', '/', {
    headers: { 'sec-fetch-site': 'cross-site', ...visit, 'sec-fetch-dest': 'iframe' },
  })
  const end = `/sessions/${ids.waiting}/end`
  const form = { token: support.token }
  await ask(
    'a form of elsewhere',
    ...post(end, support.cookie, form, { origin: 'https://e.example' }),
  )
  await ask(
    'a form of a site',
    ...post(end, support.cookie, form, { 'sec-fetch-site': 'same-site' }),
  )
  await ask('another type', ...post(end, support.cookie, form, { 'content-type': 'text/plain' }))
  const padded = (size: number) => ({
    token: 'x',
    reason: 'y'.repeat(size - 'token=x&reason='.length),
  })
  await ask('a form of 8,192 bytes', ...post(end, support.cookie, padded(8_192)))
  await ask('a form of 8,193 bytes', ...post(end, support.cookie, padded(8_193)))
  await ask('no page', '/none', cookieOf(viewer))
  await ask('an id of another kind', `/devices/${ids.waiting}`, cookieOf(support))
  await ask('a post to a page', ...post('/tenants', viewer.cookie, { token: viewer.token }))
  await ask('a role', '/rejections', cookieOf(viewer))
  await ask('a role for an action', `/tenants/${ids.shop}/suspend`, cookieOf(support))
  await ask('a live page', '/health', cookieOf(viewer))
  await ask('a page of a person', `/sessions/${ids.killed}`, cookieOf(support))
  await ask('a missing session', `/sessions/sess_${'1'.repeat(22)}`, cookieOf(support))
  await ask('a missing tenant', `/tenants/ten_${'1'.repeat(22)}`, cookieOf(viewer))
  await ask('the name of a tenant', '/health?tenant=none', cookieOf(viewer))
  const asked = await ask('a question', end, cookieOf(support))
  const question = /<form class="ask".*?<\/form>/s.exec(asked.text)?.[0] ?? ''
  lines.push(question.replace(support.token, 'TOKEN'))
  const reason = (text: string) => ({ ...form, reason: text })
  await ask('a long reason', ...post(end, support.cookie, reason('r'.repeat(201))))
  await ask('a hidden reason', ...post(end, support.cookie, reason('a\u202eb')))
  await ask('an action', ...post(end, support.cookie, reason(` ${'r'.repeat(200)} `)))
  const suspend = `/tenants/${ids.north}/suspend`
  await ask('a conflict', ...post(`/devices/${ids.cy.device_id}/block`, support.cookie, form))
  await ask(
    'without a reason',
    ...post(`/devices/${ids.cy.device_id}/unblock`, support.cookie, form),
  )
  isCurrent = false
  await ask('a role of long ago', '/tenants', cookieOf(admin))
  await ask('a form of a role of long ago', ...post(suspend, admin.cookie, { token: admin.token }))
  isCurrent = true
  const old = signIn('admin', h.clock.now() - 300_000)
  await ask('an old sign-in', suspend, cookieOf(old))
  await ask('a form of an old sign-in', ...post(suspend, old.cookie, { token: old.token }))
  const recent = signIn('admin', h.clock.now() - 299_999)
  await ask('a recent sign-in', suspend, cookieOf(recent))
  await ask('a sign-out', ...post('/sign-out', viewer.cookie, { token: viewer.token }))
  await ask('after a sign-out', '/', cookieOf(viewer))
  // A page that reads itself keeps no console open. Chromium's fetch sends these two headers.
  const read = { 'sec-fetch-dest': 'empty', 'sec-fetch-mode': 'cors' }
  const idle = signIn('viewer')
  const atWork = signIn('support')
  h.clock.advance(29 * 60_000)
  await ask('a page that reads itself', '/', { headers: { cookie: idle.cookie, ...read } })
  await ask('a page that is opened', '/', { headers: { cookie: atWork.cookie, ...visit } })
  h.clock.advance(2 * 60_000)
  await ask('half an hour after the last use', '/', cookieOf(idle))
  await ask('two minutes after the last use', '/', cookieOf(atWork))
  assertText(join(import.meta.dirname, 'drawn/answers.txt'), named(lines.join('\n')))
})
