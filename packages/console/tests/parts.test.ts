import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { readAccess } from '../src/access.ts'
import { ATTEMPT_COOKIE, cookie, cookiesIn, redirect, SESSION_COOKIE } from '../src/answer.ts'
import { Attempts } from '../src/attempts.ts'
import { consoleCommand } from '../src/command.ts'
import { numberIn, PAGE_ROWS, queryOf, textIn, timeIn, userIn, withMember } from '../src/fields.ts'
import { claimAt, describeGroups, textsOf } from '../src/groups-claim.ts'
import { match } from '../src/page.ts'
import { Passkeys } from '../src/passkeys.ts'
import { Sessions } from '../src/sessions.ts'
import { RECENT, slotText, TIME_SPANS } from '../src/time-spans.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const query = (text: string) => new URLSearchParams(text)

test('the cookies have the names and attributes that keep them to this host', () => {
  assert.equal(SESSION_COOKIE, '__Host-bonded-console')
  assert.equal(ATTEMPT_COOKIE, '__Host-bonded-console-sign-in')
  assert.equal(cookie('a', 'b'), 'a=b; Path=/; Secure; HttpOnly; SameSite=Lax')
  assert.equal(cookie('a', '', 0), 'a=; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=0')
  assert.deepEqual(
    [...cookiesIn(' a=1=2;b=; c ;a=3')],
    [
      ['a', ''],
      ['b', ''],
      ['c', ''],
    ],
  )
  assert.deepEqual([...cookiesIn('a=1=2')], [['a', '1=2']])
  assert.deepEqual(redirect('/to'), { status: 303, headers: { location: '/to' }, body: '' })
  const headers = { location: '/', 'set-cookie': ['a', 'b'] }
  assert.deepEqual(redirect('/', ['a', 'b']), { status: 303, headers, body: '' })
})

test('an attempt to sign in lasts ten minutes, is used once, and returns to a path here', () => {
  let now = 5_000
  const attempts = new Attempts(() => now)
  const begin = (text: string) => attempts.read(attempts.begin(query(text)))
  assert.deepEqual([begin('fresh')?.isFresh, begin('')?.isFresh], [true, false])
  assert.equal(begin('')?.startedAt, 5_000)
  for (const [to, returned] of [
    ['/a/b-c.d~?x=%20&y=1:2@3+4', '/a/b-c.d~?x=%20&y=1:2@3+4'],
    [`/${'a'.repeat(500)}`, `/${'a'.repeat(500)}`],
    [`/${'a'.repeat(501)}`, '/'],
    ['//host', '/'],
    ['/\\host', '/'],
    ['path', '/'],
    ['/a b', '/'],
    ['/a#b', '/'],
    ['', '/'],
  ] as const)
    assert.equal(begin(`to=${encodeURIComponent(to)}`)?.to, returned, to)
  const value = attempts.begin(query('to=/x'))
  const [state, nonce] = ['state', 'nonce'].map((name) => attempts.read(value)?.secret(name))
  assert.match(state ?? '', /^[\w-]{43}$/)
  assert.notEqual(state, nonce)
  assert.equal(attempts.read(value)?.secret('state'), state)
  assert.notEqual(attempts.read(`${value}x`)?.secret('state'), state)
  assert.notEqual(new Attempts(() => now).read(value)?.secret('state'), state)
  now += 10 * MINUTE - 1
  assert.ok(attempts.read(value))
  assert.deepEqual([attempts.use(value), attempts.use(value)], [true, false])
  now += 1
  assert.equal(attempts.read(value), undefined)
  now += 10 * MINUTE - 2
  assert.equal(attempts.use(value), false)
  now += 1
  assert.equal(attempts.use(value), true)
  // Of 1,001 used ones, the oldest is dropped, and no other.
  for (let count = 0; count < 1_000; count++) assert.ok(attempts.use(`other-${count}`))
  assert.deepEqual([attempts.use('other-1'), attempts.use(value)], [false, true])
})

const ada = {
  subject: 'ada',
  issuer: 'https://login.example',
  label: 'Ada',
  role: 'support',
} as const

test('a session lasts half an hour unused and eight hours at most, and is fresh for five minutes', () => {
  let now = 1_000_000
  const sessions = new Sessions(() => now)
  const [used, unused] = [{ isUsed: true }, { isUsed: false }]
  const id = sessions.begin({ ...ada, provedAt: now }, undefined)
  assert.match(id, /^[\w-]{43}$/)
  const session = sessions.find(id, used)
  assert.ok(session)
  assert.match(session.formToken, /^[\w-]{43}$/)
  assert.notEqual(session.formToken, id)
  assert.equal(session.endsAt, now + 8 * HOUR)
  assert.equal(session.claimedAt, now)
  assert.equal(sessions.find(undefined, used), undefined)
  assert.equal(sessions.isFresh({ ...session, provedAt: undefined }), false)
  now += 5 * MINUTE - 1
  assert.equal(sessions.isFresh(session), true)
  now += 1
  assert.equal(sessions.isFresh(session), false)
  now += 25 * MINUTE - 1
  assert.ok(sessions.find(id, unused), 'a read by a script keeps no session alive')
  now += 1
  assert.equal(sessions.find(id, used), undefined)
})

test('a sign-in without a credential lasts no longer, and one of another or with one does', () => {
  let now = 1_000_000
  const sessions = new Sessions(() => now)
  const begin = (of: object, before: ReturnType<Sessions['find']>) =>
    sessions.find(sessions.begin({ ...ada, provedAt: 900_000, ...of }, before), { isUsed: true })
  const first = begin({}, undefined)
  now += HOUR
  const second = begin({}, first)
  assert.equal(second?.endsAt, first?.endsAt)
  assert.notEqual(second?.formToken, first?.formToken)
  const third = begin({ provedAt: 900_001 }, second)
  assert.equal(third?.endsAt, now + 8 * HOUR)
  now += HOUR
  for (const other of [{ subject: 'bob' }, { issuer: 'https://other.example' }])
    assert.equal(begin(other, third)?.endsAt, now + 8 * HOUR, JSON.stringify(other))
})

test('an operator has ten sessions and the console 500, of which the oldest ends', () => {
  const sessions = new Sessions(() => 0)
  const begin = (subject: string) => sessions.begin({ ...ada, subject, provedAt: 0 }, undefined)
  const isLive = (id: string) => sessions.find(id, { isUsed: true }) !== undefined
  const bob = begin('bob')
  const own = Array.from({ length: 10 }, () => begin('ada'))
  assert.ok(own.every(isLive))
  begin('ada')
  assert.deepEqual([bob, ...own].map(isLive), [true, false, ...Array(9).fill(true)])
  for (let count = 0; count < 489; count++) begin(`other ${count}`)
  assert.ok(isLive(bob))
  begin('last')
  assert.deepEqual([isLive(bob), isLive(own[1] ?? '')], [false, true])
})

test('the fields of a query are read as people and browsers write them', () => {
  assert.equal(PAGE_ROWS, 50)
  assert.equal(textIn(query('a=%20x%20y%20'), 'a'), 'x y')
  for (const text of ['', 'a=', 'a=%20', 'a=x%00', 'b=x'])
    assert.equal(textIn(query(text), 'a'), undefined, text)
  for (const [text, number] of [
    ['51', 51],
    ['1', 1],
    ['0', undefined],
    ['-1', undefined],
    ['1.5', undefined],
    ['x', undefined],
    ['9007199254740992', undefined],
    ['', undefined],
  ] as const)
    assert.equal(numberIn(query(`a=${text}`), 'a'), number, text)
  const at = Date.UTC(2026, 10, 21, 9, 30)
  for (const [text, time] of [
    ['2026-11-21T09:30', at],
    ['2026-11-21T09:30:07', at + 7_000],
    ['2026-11-21T09:30:00Z', at],
    ['2026-11-21', undefined],
    ['', undefined],
  ] as const)
    assert.equal(timeIn(query(`a=${text}`), 'a'), time, text)
  assert.equal(withMember(query('a=1&b=2'), 'a', '3 &'), '?a=3+%26&b=2')
  const [tenantId, subjectRef] = [`ten_${'1'.repeat(22)}`, 'r'.repeat(43)]
  assert.equal(queryOf(tenantId, subjectRef), `?tenant=${tenantId}&subject_ref=${subjectRef}`)
  assert.deepEqual(userIn(query(queryOf(tenantId, subjectRef))), { tenantId, subjectRef })
  assert.equal(userIn(query(queryOf('ten_1', subjectRef))), undefined)
  assert.equal(userIn(query(queryOf(tenantId, 'short'))), undefined)
  assert.deepEqual(match('/a/:b/c/:d', '/a/1/c/2'), { b: '1', d: '2' })
  for (const path of ['/a/1/c', '/a/1/c/2/3', '/x/1/c/2', '/a/1/x/2'])
    assert.equal(match('/a/:b/c/:d', path), undefined, path)
})

test('the spans have the slots that their texts say', () => {
  const rows = Object.entries({ ...TIME_SPANS, recent: RECENT }).map(
    ([name, { text, slot, slots, slotMs, by }]) => [name, text, slot, slots, slotMs / HOUR, by],
  )
  assert.deepEqual(rows, [
    ['hour', 'This hour and the last', 'hour', 2, 1, 'hour'],
    ['day', 'Last 24 hours', 'hour', 24, 1, 'hour'],
    ['month', 'Last 30 days', 'day', 30, 24, 'day'],
    ['year', 'Last 52 weeks', 'week', 52, 168, 'day'],
    ['recent', 'Last 3 hours', 'hour', 3, 1, 'hour'],
  ])
  const at = Date.UTC(2026, 10, 21, 9, 30)
  assert.deepEqual(
    [TIME_SPANS.day, TIME_SPANS.month, TIME_SPANS.year].map((span) => slotText(span, at)),
    ['2026-11-21 09:30', '2026-11-21', '2026-11-21'],
  )
})

test('a claim is found by its name and by its path, and its description says what is wrong', () => {
  const claims = {
    'https://a.example/groups': ['x'],
    realm: { roles: ['r'], 'a.b': { c: 's' } },
    'realm.roles': ['longer'],
    a: { b: 'short' },
    one: 'text',
    empty: [],
    objects: [{ id: 1, name: 2 }],
    shape: { member: 1 },
    number: 7,
    _claim_names: { left: 'src1' },
  }
  for (const [path, found] of [
    ['https://a.example/groups', ['x']],
    ['realm.roles', ['longer']],
    ['realm.a.b.c', 's'],
    ['one', 'text'],
    ['a.b', 'short'],
    ['none', undefined],
    ['realm.none', undefined],
    ['toString', undefined],
  ] as const)
    assert.deepEqual(claimAt(claims, path), found, path)
  assert.deepEqual([textsOf('a'), textsOf(['a', 1, 'b']), textsOf(1)], [['a'], ['a', 'b'], []])
  const name = (path: string) => `The claim ${path} of the ID token`
  for (const [path, text] of [
    ['realm.roles', 'has longer. The access file gives none of them a role.'],
    [
      'left',
      'is left out, because it would be too long. Let the provider send only the groups of this application, or app roles.',
    ],
    [
      'none',
      'is missing. Let the provider add it to the ID token, not only to the user info, or change groups_claim.',
    ],
    ['empty', 'is an empty list.'],
    [
      'objects',
      'is a list of objects, with the members id, name. groups_claim must name a list of texts, such as realm_access.roles.',
    ],
    [
      'shape',
      'is of the type object, with the members member. groups_claim must name a list of texts, such as realm_access.roles.',
    ],
    [
      'number',
      'is of the type number. groups_claim must name a list of texts, such as realm_access.roles.',
    ],
  ] as const)
    assert.equal(describeGroups(claims, path), `${name(path)} ${text}`)
})

test('an access file has the defaults of the guide, and its scopes and claim replace them', () => {
  const folder = mkdtempSync(join(tmpdir(), 'bonded-access-'))
  try {
    const file = join(folder, 'access.yaml')
    const read = (...lines: string[]) => {
      const base = ['origin: https://c.example', 'issuer: https://i.example', 'client_id: me']
      writeFileSync(file, [...base, 'roles: { viewer: [a, b], support: [c] }', ...lines].join('\n'))
      return readAccess(file)
    }
    assert.deepEqual(read(), {
      origin: 'https://c.example',
      issuer: 'https://i.example',
      clientId: 'me',
      clientSecret: undefined,
      groupsClaim: 'groups',
      scopes: ['profile'],
      groups: { viewer: ['a', 'b'], support: ['c'], admin: [] },
    })
    const own = read('groups_claim: realm.roles', 'scopes: [email, groups]')
    assert.deepEqual([own.groupsClaim, own.scopes], ['realm.roles', ['email', 'groups']])
    for (const wrong of ['scopes: ["a b"]', 'scopes: [a, a]', 'groups_claim: ""', 'client_id: ""'])
      assert.throws(() => read(wrong), /invalid|cannot be read/, wrong)
    writeFileSync(join(folder, 'empty'), ' \n')
    assert.throws(
      () => read('client_secret_file: empty'),
      /is empty\. It must have the client secret\./,
    )
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('an invitation lasts ten minutes, is used once, and its files are of one account', () => {
  const folder = mkdtempSync(join(tmpdir(), 'bonded-passkeys-'))
  try {
    const passkeys = new Passkeys(folder)
    const token = passkeys.invite({ name: 'Ada', role: 'admin' }, 1_000)
    assert.match(token, /^[\w-]{43}$/)
    const { name, role } = passkeys.invitation(token, 1_000 + 10 * MINUTE - 1) ?? {}
    assert.deepEqual([name, role], ['Ada', 'admin'])
    assert.equal(passkeys.invitation(token, 1_000 + 10 * MINUTE), undefined)
    assert.equal(passkeys.invitation('x', 1_000), undefined)
    const [file = ''] = readdirSync(join(folder, 'console'))
    assert.match(file, /^invitation-[\w-]{43}\.json$/)
    assert.ok(!file.includes(token))
    assert.equal(statSync(join(folder, 'console', file)).mode & 0o777, 0o600)
    assert.equal(statSync(join(folder, 'console')).mode & 0o777, 0o700)
    assert.deepEqual([passkeys.use(token), passkeys.use(token)], [true, false])
    const id = new Uint8Array([1, 2])
    const passkey = {
      name: 'Ada',
      role: 'viewer',
      publicKey: 'k',
      backupEligible: true,
      counter: 3,
    } as const
    passkeys.add(id, passkey)
    assert.deepEqual(passkeys.find(id), passkey)
    assert.equal(passkeys.find(new Uint8Array([1, 3])), undefined)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('the options of the console are parsed to their bounds', () => {
  const option = (name: string) => {
    const found = consoleCommand().options.find(({ long }) => long === name)
    assert.ok(found)
    return found
  }
  const listen = (text: string) => option('--listen').parseArg?.(text, undefined)
  assert.deepEqual(option('--listen').defaultValue, { host: '127.0.0.1', port: 8450 })
  for (const [text, host, port] of [
    ['0.0.0.0:1', '0.0.0.0', 1],
    ['[::1]:65535', '::1', 65_535],
    ['host.example:0', 'host.example', 0],
  ] as const)
    assert.deepEqual(listen(text), { host, port })
  for (const text of ['8450', ':8450', 'host:65536', 'host:', 'host:x', '[]:1'])
    assert.throws(() => listen(text), /Expected an address and a port, such as 127\.0\.0\.1:8450\./)
  const name = (text: string) => option('--name').parseArg?.(text, undefined)
  assert.equal(option('--name').defaultValue, 'operator')
  assert.equal(name('é'.repeat(64)), 'é'.repeat(64))
  assert.equal(name('😀'.repeat(64)), '😀'.repeat(64))
  for (const text of ['é'.repeat(65), '', 'a\u202eb'])
    assert.throws(() => name(text), /Expected 1 to 64 visible characters\./)
  assert.deepEqual(option('--enroll').argChoices, ['viewer', 'support', 'admin'])
})
