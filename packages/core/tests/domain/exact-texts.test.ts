import assert from 'node:assert/strict'
import { test } from 'node:test'
import { png, pngChunk } from '../../../../tests/png.ts'
import { parseConnectionLimits } from '../../src/domain/connection-limits.ts'
import { findContextProblem } from '../../src/domain/labels.ts'
import { problemOfLogo } from '../../src/domain/logo.ts'
import { withoutCredentials } from '../../src/domain/redaction.ts'
import { parseRootKeys } from '../../src/domain/root-keys.ts'

/*
 * What is rejected, with the whole sentence that says why: a reader who fixes what another sentence
 * names does not get further. The sentences are written out, and each limit is met and exceeded.
 */

test('a logo is a still PNG, and its problem names what to change', () => {
  const ofSize = (bytes: number) => {
    const rest = bytes - png(8, 8, pngChunk('tIME')).length
    return png(8, 8, pngChunk('tIME', new Uint8Array(rest)))
  }
  const sides = 'the logo must have 1 to 1024 pixels a side'
  const incomplete = 'the logo is not a complete PNG'
  const chunk = (type: string) =>
    `the PNG has a chunk "${type}": save it as a still image without metadata`
  for (const [name, bytes, problem] of [
    [
      'an SVG',
      Buffer.from('<svg/>'),
      'the logo must be a PNG. Convert an SVG: rsvg-convert --height 72 --output logo.png logo.svg',
    ],
    ['the largest file', ofSize(32_768), undefined],
    ['a larger file', ofSize(32_769), 'the logo must have at most 32768 bytes'],
    ['the largest image', png(1_024, 1_024), undefined],
    ['a wider image', png(1_025, 8), sides],
    ['a higher image', png(8, 1_025), sides],
    ['an image without a width', png(0, 8), sides],
    ['an image without a height', png(8, 0), sides],
    ['a file that is cut', png().subarray(0, -1), incomplete],
    ['a file that goes on', Buffer.concat([png(), pngChunk('tIME')]), incomplete],
    ['an animation', png(8, 8, pngChunk('acTL')), chunk('acTL')],
    ['metadata', png(8, 8, pngChunk('tEXt')), chunk('tEXt')],
  ] as const)
    assert.equal(problemOfLogo(bytes), problem, name)
  for (const type of 'PLTE IDAT tRNS gAMA sRGB cHRM iCCP sBIT bKGD pHYs tIME'.split(' '))
    assert.equal(problemOfLogo(png(8, 8, pngChunk(type))), undefined, type)
})

test('a context that could mislead names the member, and says why', () => {
  const display = [{ label: 'Amount', value: '10' }]
  const problems = [
    findContextProblem({ display: [], text: 'Send all' }),
    findContextProblem({ display, requester: { kind: 'agent', name: 'Aссount bot' } }),
    findContextProblem({
      display,
      requester: { kind: 'agent', name: 'Bot', detail: 'is ✔ checked' },
    }),
    findContextProblem({ display, requester: { kind: 'agent', name: 'Bot ✅' } }),
    findContextProblem({ display: [...display, { label: 'Purpose', value: '1' }] }),
    findContextProblem({ display: [...display, { label: 'amount', value: '1' }] }),
    findContextProblem({ display: [...display, { label: 'Tоtal', value: '1' }] }),
  ].map((problem) => problem && `${problem.param}: ${problem.detail}`)
  assert.deepEqual(problems, [
    'context.display: A context with a text needs at least one pair.',
    'context.requester.name: A word of the label mixes scripts, or has letters that are not in general use.',
    'context.requester.detail: A check mark reads as a verification.',
    'context.requester.name: A check mark reads as a verification.',
    'context.display.1.label: The label looks like "Purpose", which is a reserved label: phones show it themselves.',
    'context.display.1.label: The label looks like another label of this context.',
    'context.display.1.label: A word of the label mixes scripts, or has letters that are not in general use.',
  ])
  assert.equal(
    findContextProblem({ display, text: 'Send', requester: { kind: 'agent', name: 'Bot' } }),
    undefined,
  )
})

test('every sign that reads as a verification is rejected, and similar ones are not', () => {
  const of = (name: string) =>
    findContextProblem({
      display: [{ label: 'Amount', value: '10' }],
      requester: { kind: 'agent', name },
    })?.detail
  for (const sign of '√⍻☑✅✓✔\u{10102}\u{1f5f8}\u{1f5f9}')
    assert.equal(of(`Bot ${sign}`), 'A check mark reads as a verification.', sign)
  for (const sign of '☐✗✕+•') assert.equal(of(`Bot ${sign}`), undefined, sign)
})

test('root keys are named by their place, and an id by itself', () => {
  const key = Buffer.from(Array.from({ length: 32 }, (_, index) => index)).toString('base64url')
  const few = (distinct: number) =>
    Buffer.from(Array.from({ length: 32 }, (_, index) => index % distinct)).toString('base64url')
  const problemOf = (text: string) => {
    try {
      return parseRootKeys(text).map(({ id }) => id)
    } catch (failure) {
      return (failure as Error).message
    }
  }
  assert.deepEqual(problemOf(`k2:${key}, k1:${key}`), ['k2', 'k1'])
  assert.deepEqual(problemOf(`${'a'.repeat(32)}:${key}`), ['a'.repeat(32)])
  assert.deepEqual(problemOf(`k1:${few(8)}`), ['k1'])
  for (const [text, problem] of [
    [`k1:${key},${'a'.repeat(33)}:${key}`, 'key 2 is not of the form id:base64url'],
    [`k1:${key}:`, 'key 1 is not of the form id:base64url'],
    [`k1:${key},k2:${key.slice(0, -2)}`, 'key 2 is not 32 bytes in base64url'],
    [`k1:${key}AA`, 'key 1 is not 32 bytes in base64url'],
    [`k1:${key},k2:${few(7)}`, 'key 2 is not random'],
    [`k1:${key},k2:${key},k1:${key}`, 'key k1 is named twice'],
  ] as const)
    assert.equal(problemOf(text), problem)
})

test('each limit of connections is met by its largest value, and the reserve is below the total', () => {
  for (const [text, accepted] of [
    ['total=1000000', true],
    ['total=1000001', false],
    ['reserve=999999,total=1000000', true],
    ['reserve=1000000,total=1000000', false],
    ['network=1000000', true],
    ['network=1000001', false],
    ['session=1000', true],
    ['session=1001', false],
    ['idle_seconds=600', true],
    ['idle_seconds=601', false],
    ['backend_idle_seconds=4010', true],
    ['backend_idle_seconds=4011', false],
    ['proxy_idle_seconds=4010', true],
    ['proxy_idle_seconds=4011', false],
  ] as const)
    assert.equal(parseConnectionLimits(text) !== undefined, accepted, text)
  assert.deepEqual(parseConnectionLimits('session=9, network=7'), {
    total: 6_000,
    reserve: 1_000,
    network: 7,
    session: 9,
    idle_seconds: 10,
    backend_idle_seconds: 72,
    proxy_idle_seconds: 3_610,
  })
})

test('a response loses each kind of secret, and keeps what names rows of the service', () => {
  const redact = (body: string) => {
    const result = withoutCredentials({ status: 500, body }, 400)
    return 'body' in result ? result.body : assert.fail()
  }
  for (const prefix of ['whsec', 'whsk', 'sk', 'dt', 'bcs', 'bwt', 'wpt']) {
    assert.equal(redact(`bad ${prefix}_abcdefgh.`), 'bad [redacted].', prefix)
    assert.equal(redact(`bad ${prefix}_abcdefg.`), `bad ${prefix}_abcdefg.`, prefix)
  }
  for (const text of ['v1,abcdefgh', 'v1a,abcdefgh', 'eyJabcdefgh.x.y', 'Bearer x', 'basic x'])
    assert.equal(redact(`bad ${text}`), 'bad [redacted]', text)
  for (const prefix of ['evt', 'sess', 'we', 'dev', 'ten'])
    assert.match(redact(`no ${prefix}_0123456789abcdefABCDEF`), /^no \w+_0123456789abcdefABCDEF$/)
  for (const name of ['Cookie', 'Set-Cookie', 'Authorization', 'Proxy-Authorization'])
    assert.equal(redact(`${name}: a b; c\nnext`), `${name}: [redacted]\nnext`)
  for (const name of [
    'password',
    'passwd',
    'passphrase',
    'pwd',
    'client_secret',
    'token',
    'credentials',
    'private_key',
    'access-key',
    'apikey',
    'api_key',
    'signature',
  ]) {
    assert.equal(redact(`{"${name}": "x y"}`), `{"${name}": [redacted]}`, name)
    assert.equal(redact(`${name}=x&n=1`), `${name}=[redacted]&n=1`, name)
  }
  assert.equal(redact('https://me:pw@host/a'), 'https://[redacted]@host/a')
  assert.equal(redact('0123456789abcdefghi'), '0123456789abcdefghi')
  assert.equal(redact('0123456789abcdefghij'), '[redacted]')
  assert.equal(redact('01234567890123456789'), '01234567890123456789')
  assert.equal(redact('abcdefghijabcdefghij'), 'abcdefghijabcdefghij')
})
