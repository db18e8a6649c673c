import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfig } from '../src/settings/config.ts'
import { sharedSettings } from '../src/settings/shared-settings.ts'

const SETTINGS = {
  BONDED_PUBLIC_ORIGIN: 'https://eu.bond.example.com',
  BONDED_RP_ID_FORMER: 'a.example,b.example',
  BONDED_TRUST_PROXY: '10.0.0.0/24,10.1.0.0/24',
}
const shared = (more: Readonly<Record<string, string>> = {}) =>
  sharedSettings(readConfig({ ...SETTINGS, ...more }))

test('relying party ids, related origins and proxies are settings that all nodes share', () => {
  for (const [name, value] of [
    ['BONDED_RP_ID', 'bond.example.com'],
    ['BONDED_RP_ID_FORMER', 'a.example'],
    ['BONDED_RELATED_ORIGINS', 'on'],
    ['BONDED_TRUST_PROXY', '1'],
  ] as const) {
    const [before, after] = [shared(), shared({ [name]: value })]
    const differing = Object.keys(before).filter((key) => before[key] !== after[key])
    assert.deepEqual(differing, [name])
  }
})

test('lists in another order and written-out defaults count as the same settings', () => {
  const same = {
    BONDED_RP_ID: 'eu.bond.example.com',
    BONDED_RP_ID_FORMER: 'b.example,a.example',
    BONDED_RELATED_ORIGINS: 'off',
    BONDED_TRUST_PROXY: '10.1.0.0/24,10.0.0.0/24',
  }
  assert.deepEqual(shared(same), shared())
})
