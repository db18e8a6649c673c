import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isPermitted, isPlaced, readStart } from '../src/frame/parent-message.ts'

/** The tests run without the types of a browser. */
type Source = Parameters<typeof readStart>[0]['source']
const PARENT = { is: 'parent' } as unknown as Source
const ORIGIN = 'https://shop.example'
const START = {
  bonded: 'frame/v1',
  type: 'start',
  session_id: `sess_${'0'.repeat(22)}`,
  watch_token: `bwt_${'A'.repeat(43)}`,
  publishable_key: `pk_beta_${'0'.repeat(22)}`,
  commitment: 'A'.repeat(43),
  language: 'de',
}
const read = (data: unknown, { source = PARENT, origin = ORIGIN } = {}) =>
  readStart({ source, origin, data }, PARENT)

test('reads a start of the page that shows the frame', () => {
  assert.deepEqual(read(START), {
    parentOrigin: ORIGIN,
    sessionId: START.session_id,
    watchToken: START.watch_token,
    publishableKey: START.publishable_key,
    commitment: START.commitment,
    language: 'de',
    theme: null,
    accent: null,
  })
  assert.equal(read({ ...START, language: null })?.language, null)
  assert.equal(read({ ...START, theme: 'dark' })?.theme, 'dark')
  for (const theme of ['', 'x', 1, null, {}, 'Dark'])
    assert.equal(read({ ...START, theme })?.theme, null)
  assert.equal(read({ ...START, accent: '#C2185b' })?.accent, '#C2185b')
  for (const accent of ['', 'red', '#fff', '#c2185b80', 'url(x)', 'var(--x)', 1, null, {}])
    assert.equal(read({ ...START, accent })?.accent, null)
})

test('takes nothing that a page could have signed', () => {
  const members = Object.keys(read(START) ?? {})
  const more = { challenge: 'A', publicKey: {}, payload: '{}', rp_id: 'x', origin: 'https://evil' }
  assert.deepEqual(Object.keys(read({ ...START, ...more }) ?? {}), members)
  assert.equal(read({ ...START, ...more })?.parentOrigin, ORIGIN)
})

test('ignores messages of other windows, and of pages without an origin', () => {
  assert.equal(read(START, { source: {} as unknown as Source }), undefined)
  assert.equal(read(START, { source: null }), undefined)
  assert.equal(readStart({ source: null, origin: ORIGIN, data: START }, null), undefined)
  for (const origin of ['null', '', 'file://', 'data:', 'https://a.example/path'])
    assert.equal(read(START, { origin }), undefined, origin)
})

const JUNK: readonly unknown[] = [undefined, null, 0, true, {}, [], '', 'x', 'A'.repeat(44), '\0']

test('ignores every message that is not whole', () => {
  for (const data of JUNK) assert.equal(read(data), undefined)
  for (const name of [
    'bonded',
    'type',
    'session_id',
    'watch_token',
    'publishable_key',
    'commitment',
  ])
    for (const value of JUNK)
      assert.equal(read({ ...START, [name]: value }), undefined, `${name}: ${String(value)}`)
  assert.equal(read(Object.create(START)), undefined)
})

test('is placed only directly in the page that the user visits', () => {
  const [self, page, top] = [{}, {}, {}]
  assert.equal(isPlaced({ self, parent: page, top: page }), true)
  assert.equal(isPlaced({ self, parent: self, top: self }), false)
  assert.equal(isPlaced({ self, parent: page, top }), false)
  assert.equal(isPlaced({ self, parent: page, top: null }), false)
})

test('is permitted unless the browser says that it is not', () => {
  const saying = (isAllowed: boolean) => ({
    featurePolicy: {
      allowsFeature: (name: string) => (name === 'publickey-credentials-get' ? isAllowed : true),
    },
  })
  assert.equal(isPermitted(saying(true)), true)
  assert.equal(isPermitted(saying(false)), false)
  assert.equal(isPermitted({}), true)
})
