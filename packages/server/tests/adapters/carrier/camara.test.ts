import { Secret } from '@bonded/contract'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { camaraCarrier } from '../../../src/adapters/carrier/camara.ts'
import {
  startFakeCarrier,
  type Mood,
  PATHS,
  type Path,
  type Subscriber,
} from './fake-carrier/fake-carrier.ts'
import { blame, NUMBER, scene, UNKNOWN, WELL } from './fake-carrier/scene.ts'
import { TestClock } from '../../../../../tests/harness/test-clock.ts'

for (const flow of ['jwt-bearer', 'ciba'] as const) {
  test(`verifies a number of this phone without a swap, without a note (${flow})`, async () => {
    await using setting = await scene({}, { flow })
    assert.deepEqual(await setting.check(), { finding: WELL })
  })
}

test('queries no carrier without a number and does not count it against the phone', async () => {
  await using setting = await scene()
  const verdict = await setting.carrier.check({
    phoneNumber: null,
    signal: { operator_token: 'sim-token' },
  })
  assert.deepEqual(verdict, {
    finding: {
      number_verified: false,
      sim_swap_recent: false,
      device_status: 'unknown',
      source: 'none',
    },
  })
  assert.equal(setting.fakeCarrier.requests.length, 0)
})

test('returns the safe values for a number of no carrier', async () => {
  await using setting = await scene()
  const note = 'number_verification:no_operator sim_swap:no_operator device_status:no_operator'
  assert.deepEqual(await setting.check('+4915000000'), { finding: UNKNOWN, note })
})

test('runs the other checks without a carrier token', async () => {
  await using setting = await scene()
  const verdict = await setting.carrier.check({
    phoneNumber: new Secret(NUMBER),
    signal: undefined,
  })
  assert.deepEqual(verdict, {
    finding: { ...WELL, number_verified: false },
    note: 'number_verification:operator_token_missing',
  })
  assert.equal(setting.fakeCarrier.count(PATHS.verify), 0)
})

const DAY_MS = 86_400_000
const ago = (ms: number) => new Date(new TestClock().now() - ms).toISOString()

/** Facts of the carrier and the resulting findings. */
const FACTS: readonly [string, Subscriber, Partial<typeof WELL>, string?][] = [
  ['a recent swap', { swapped: true }, { sim_swap_recent: true }],
  ['a phone that is off', { reachable: false }, { device_status: 'inactive' }],
  [
    'a phone that has been off for days',
    { reachable: false, lastStatusTime: ago(3 * DAY_MS) },
    { device_status: 'inactive' },
  ],
  ['a report of 15 minutes ago', { lastStatusTime: ago(900_000) }, {}],
  [
    'a report of 15 minutes and a millisecond ago',
    { lastStatusTime: ago(900_001) },
    { device_status: 'unknown' },
    'device_status:stale_status',
  ],
  [
    'a report of the future',
    { lastStatusTime: ago(-3_600_000) },
    { device_status: 'unknown' },
    'device_status:stale_status',
  ],
]
for (const [what, subscriber, finding, note] of FACTS) {
  test(`${what}: ${JSON.stringify(finding)}`, async () => {
    await using setting = await scene(subscriber)
    assert.deepEqual(await setting.check(), {
      finding: { ...WELL, ...finding },
      ...(note ? { note } : {}),
    })
  })
}

test('does not verify a number of another phone', async () => {
  await using setting = await scene()
  setting.fakeCarrier.sims.set('sim-token', '+34600000002')
  assert.deepEqual(await setting.check(), { finding: { ...WELL, number_verified: false } })
})

/**
 * Where the carrier does not go back as far as asked: what the date of the last change amounts to.
 */
const DATES: readonly [string, Subscriber, boolean, string?][] = [
  ['within the window', { latestSimChange: ago(9 * DAY_MS) }, true],
  ['before the window', { latestSimChange: ago(11 * DAY_MS) }, false],
  [
    'before the window, with nanoseconds and an offset',
    { latestSimChange: '2026-11-01T07:37:53.471829447+02:00' },
    false,
  ],
  ['none in as many days as asked', { latestSimChange: null, monitoredPeriod: 10 }, false],
  [
    'none, watched for too short',
    { latestSimChange: null, monitoredPeriod: 9 },
    true,
    'sim_swap:not_monitored',
  ],
  [
    'none, watched for who knows how long',
    { latestSimChange: null },
    true,
    'sim_swap:not_monitored',
  ],
]
for (const [what, subscriber, recent, note] of DATES) {
  test(`OUT_OF_RANGE, then a change ${what}: sim_swap_recent ${recent}`, async () => {
    await using setting = await scene(subscriber)
    setting.fakeCarrier.moods.set(PATHS.check, { status: 400, code: 'OUT_OF_RANGE' })
    assert.deepEqual(await setting.check(), {
      finding: { ...WELL, sim_swap_recent: recent },
      ...(note ? { note } : {}),
    })
  })
}

type Row = readonly [Path, Mood, string]
const WRONG_SHAPES = [
  '{"swapped": "no", "devicePhoneNumberVerified": 1, "reachable": "yes"}',
  '{}',
  '[]',
  'null',
  '"true"',
  '{"swapped": fal',
  '',
]
const member = (path: Path) =>
  path === PATHS.verify
    ? 'number_verification'
    : path === PATHS.check
      ? 'sim_swap'
      : 'device_status'
const asked = [PATHS.verify, PATHS.check, PATHS.reach]

/** Every way to reject or to be wrong, at every endpoint, with the word that the timeline gets. */
const WRONG: readonly Row[] = [
  ...asked.flatMap((path): Row[] => [
    [path, { status: 400, code: 'INVALID_ARGUMENT' }, `${member(path)}:invalid_argument`],
    [path, { status: 401, code: 'UNAUTHENTICATED' }, `${member(path)}:unauthenticated`],
    [path, { status: 403, code: 'PERMISSION_DENIED' }, `${member(path)}:permission_denied`],
    [
      path,
      { raw: '{"status":500,"code":"INTERNAL","message":"x"}', status: 500 },
      `${member(path)}:server_error`,
    ],
    [path, { raw: '<html>', status: 502 }, `${member(path)}:server_error`],
    [
      path,
      { raw: '', status: 302, headers: { location: 'http://127.0.0.1:1/' } },
      `${member(path)}:malformed_answer`,
    ],
    [
      path,
      { raw: '{"status":429,"code":"TOO_MANY_REQUESTS","message":"x"}', status: 429 },
      `${member(path)}:rate_limited`,
    ],
    [path, { raw: `{"x":"${'x'.repeat(70_000)}"}` }, `${member(path)}:malformed_answer`],
    [path, { raw: '{"swapped":false,"swapped":true}' }, `${member(path)}:malformed_answer`],
    [path, 'reset', `${member(path)}:unreachable`],
    ...WRONG_SHAPES.map((raw): Row => [path, { raw }, `${member(path)}:malformed_answer`]),
  ]),
  [
    PATHS.verify,
    { status: 403, code: 'NUMBER_VERIFICATION.USER_NOT_AUTHENTICATED_BY_MOBILE_NETWORK' },
    'number_verification:permission_denied',
  ],
  ...[PATHS.check, PATHS.reach].flatMap((path): Row[] => [
    [path, { status: 404, code: 'IDENTIFIER_NOT_FOUND' }, `${member(path)}:identifier_not_found`],
    [path, { status: 404, code: 'NOT_FOUND' }, `${member(path)}:identifier_not_found`],
    [path, { status: 422, code: 'SERVICE_NOT_APPLICABLE' }, `${member(path)}:not_applicable`],
    [path, { status: 422, code: 'MISSING_IDENTIFIER' }, `${member(path)}:not_applicable`],
    [path, { status: 422, code: 'UNNECESSARY_IDENTIFIER' }, `${member(path)}:not_applicable`],
  ]),
  [PATHS.reach, { status: 422, code: 'UNSUPPORTED_IDENTIFIER' }, 'device_status:not_applicable'],
  [PATHS.reach, { status: 503, code: 'UNAVAILABLE' }, 'device_status:server_error'],
  [
    PATHS.reach,
    { raw: '{"reachable":true,"lastStatusTime":"yesterday"}' },
    'device_status:malformed_answer',
  ],
  [
    PATHS.reach,
    { raw: '{"reachable":true,"lastStatusTime":"2026-11-21T09:30:00"}' },
    'device_status:malformed_answer',
  ],
]
const UNKNOWN_MEMBER: Record<string, Partial<typeof WELL>> = {
  number_verification: { number_verified: false },
  sim_swap: { sim_swap_recent: true },
  device_status: { device_status: 'unknown' },
}

test('gives only the failed check its safe value and names it in the note', async () => {
  assert.ok(WRONG.length > 50)
  for (const [path, mood, note] of WRONG) {
    await using setting = await scene()
    setting.fakeCarrier.moods.set(path, mood)
    const finding = { ...WELL, ...UNKNOWN_MEMBER[note.split(':')[0] ?? ''] }
    assert.deepEqual(
      await setting.check(),
      { finding, note, ...blame(note) },
      `${path} ${JSON.stringify(mood)}`,
    )
  }
})

test('parses the retrieve-date response as strictly as the others', async () => {
  for (const raw of [
    '{}',
    '{"latestSimChange":"soon"}',
    '{"latestSimChange":null,"monitoredPeriod":"120"}',
    '{"latestSimChange":false}',
  ]) {
    await using setting = await scene()
    setting.fakeCarrier.moods.set(PATHS.check, { status: 400, code: 'OUT_OF_RANGE' })
    setting.fakeCarrier.moods.set(PATHS.date, { raw })
    assert.deepEqual(
      await setting.check(),
      {
        finding: { ...WELL, sim_swap_recent: true },
        note: 'sim_swap:malformed_answer',
        isUnavailable: true,
      },
      raw,
    )
  }
})

const everywhere = (why: string) =>
  `number_verification:${why} sim_swap:${why} device_status:${why}`

/** Failures of the authorization server, which fail every check. */
const AT_THE_DOOR: readonly [Path, Mood, string][] = [
  [
    PATHS.discovery,
    { raw: '{"issuer":"https://other.example","token_endpoint":"https://other.example/token"}' },
    'malformed_answer',
  ],
  [PATHS.discovery, { raw: '{' }, 'malformed_answer'],
  [PATHS.discovery, { raw: '', status: 503 }, 'server_error'],
  [PATHS.discovery, 'reset', 'unreachable'],
  [PATHS.token, { raw: '{"error":"invalid_client"}', status: 401 }, 'client_refused'],
  [PATHS.token, { raw: '{"error":"invalid_grant"}', status: 400 }, 'token_refused'],
  [PATHS.token, { raw: '{"error":"invalid_scope"}', status: 400 }, 'client_refused'],
  [PATHS.token, { raw: '{"access_token":"a","token_type":"DPoP"}' }, 'malformed_answer'],
  [PATHS.token, { raw: '{"access_token":"a\\nb","token_type":"Bearer"}' }, 'malformed_answer'],
  [
    PATHS.token,
    { raw: '{"access_token":"a","token_type":"Bearer","expires_in":"300"}' },
    'malformed_answer',
  ],
  [PATHS.token, { raw: '', status: 429, headers: { 'retry-after': '7' } }, 'rate_limited'],
]
test('fails every check when the authorization server fails, and notes the reason', async () => {
  for (const [path, mood, why] of AT_THE_DOOR) {
    await using setting = await scene()
    setting.fakeCarrier.moods.set(path, mood)
    assert.deepEqual(
      await setting.check(),
      { finding: UNKNOWN, note: everywhere(why), ...blame(everywhere(why)) },
      `${path} ${JSON.stringify(mood)}`,
    )
  }
})

test('selects the carrier with the longest prefix and isolates failures between carriers', async () => {
  const clock = new TestClock()
  await using wide = await startFakeCarrier({
    clock,
    name: 'wide',
    numberPrefixes: ['+34', '+351'],
  })
  await using narrow = await startFakeCarrier({ clock, name: 'narrow', numberPrefixes: ['+3469'] })
  const carrier = camaraCarrier([wide.settings, narrow.settings], { clock })
  const check = (number: string) =>
    carrier.check({ phoneNumber: new Secret(number), signal: undefined })
  wide.subscribers.set('+34600000001', {})
  narrow.subscribers.set('+34690000001', {})
  narrow.moods.set(PATHS.discovery, 'reset')
  for (let time = 0; time < 6; time++) await check('+34690000001')
  const seen = narrow.requests.length
  assert.match(
    String((await check('+34690000001')).note),
    /sim_swap:circuit_open device_status:circuit_open/,
  )
  assert.equal(narrow.requests.length, seen)
  assert.deepEqual((await check('+34600000001')).finding, { ...WELL, number_verified: false })
  assert.equal(
    wide.requests.some(({ body }) => body.includes('690000001')),
    false,
  )
})

test('caches a SIM swap result for one minute and never caches a failure', async () => {
  await using setting = await scene({ swapped: true })
  const { fakeCarrier, clock, check } = setting
  await check()
  clock.advance(59_999)
  fakeCarrier.subscribers.set(NUMBER, { swapped: false })
  assert.equal((await check()).finding.sim_swap_recent, true)
  assert.equal(fakeCarrier.count(PATHS.check), 1)
  clock.advance(1)
  assert.equal((await check()).finding.sim_swap_recent, false)
  clock.advance(60_000)
  fakeCarrier.moods.set(PATHS.check, { raw: '', status: 500 })
  assert.equal((await check()).finding.sim_swap_recent, true)
  fakeCarrier.moods.delete(PATHS.check)
  assert.equal((await check()).finding.sim_swap_recent, false)
})

test('reuses a token until it expires, except for number verification', async () => {
  await using setting = await scene()
  const { fakeCarrier, clock, check } = setting
  await check()
  assert.equal(fakeCarrier.count(PATHS.token), 3)
  clock.advance(61_000)
  assert.deepEqual((await check()).finding, WELL)
  assert.equal(fakeCarrier.count(PATHS.token), 4)
  clock.advance(240_000)
  assert.deepEqual((await check()).finding, WELL)
  assert.equal(fakeCarrier.count(PATHS.token), 7)
})

test('replaces a cached token once if the carrier rejects it', async () => {
  await using setting = await scene()
  const { fakeCarrier, clock, check } = setting
  await check()
  fakeCarrier.authorization.tokens.clear()
  clock.advance(61_000)
  assert.deepEqual((await check()).finding, WELL)
  fakeCarrier.moods.set(PATHS.reach, { status: 401, code: 'UNAUTHENTICATED' })
  const before = fakeCarrier.count(PATHS.reach)
  assert.equal((await check()).note, 'device_status:unauthenticated')
  assert.equal(fakeCarrier.count(PATHS.reach), before + 2)
})

test('sends a number only in the signed subject and in the verification body', async () => {
  await using setting = await scene()
  await setting.check()
  const bare = NUMBER.slice(1)
  for (const { path, body, headers } of setting.fakeCarrier.requests) {
    assert.equal(body.includes(bare), path === PATHS.verify, path)
    assert.ok(!path.includes(bare) && !JSON.stringify(headers).includes(bare), path)
  }
})
