import assert from 'node:assert/strict'
import { test } from 'node:test'
import { forwardedAddress } from '../src/index.ts'

test('forwardedAddress reads what your own proxies wrote, and nothing of the user', () => {
  const forged = '198.51.100.1, 192.0.2.7'
  const cases: readonly [string | null | undefined, number | undefined, string | undefined][] = [
    ['192.0.2.7', undefined, '192.0.2.7'],
    [forged, undefined, '192.0.2.7'],
    [`${forged}, 10.0.0.1`, 2, '192.0.2.7'],
    ['192.0.2.7:5123', 1, '192.0.2.7'],
    ['[2001:DB8::1]:5123', 1, '2001:db8::1'],
    ['2001:db8::1', 1, '2001:db8::1'],
    ['192.0.2.7', 2, undefined],
    ['unknown', 1, undefined],
    ['', 1, undefined],
    [null, 1, undefined],
    [undefined, 1, undefined],
  ]
  for (const [header, proxies, expected] of cases)
    assert.equal(forwardedAddress(header, proxies), expected, String(header))
})
