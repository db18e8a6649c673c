import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OperatorError } from '../../../../core/src/operations/admin/operator-error.ts'
import { createTenant } from '../../../../core/src/operations/admin/tenants.ts'
import { checkOrigin } from '../../../../core/src/operations/admin/check-origin.ts'
import { harness, WORKFLOWS } from '../../../../../tests/harness/harness.ts'

const PRODUCTION = { environment: 'production', demo: false } as const
const SANDBOX = { environment: 'sandbox', demo: false } as const
const DEMO = { environment: 'sandbox', demo: true } as const

const NEVER = [
  'shop.example',
  'https://',
  'https://shop.example/',
  'https://shop.example/pay',
  'https://shop.example?x=1',
  'https://user@shop.example',
  'https://user:password@shop.example',
  'https://Shop.example',
  'https://shop.example:443',
  'https://*.shop.example',
  'https://*',
  'https://shop.example.',
  'https://shop.localhost',
  'http://shop.localhost:3000',
  'http://shop.example',
  'ftp://shop.example',
  'file:///',
  'null',
  'https://0.0.0.0',
  'https://0.0.0.0:8443',
  'https://[::]',
  'https://[::ffff:0:0]',
  'https://2130706433',
  'https://0x7f.1',
  'https://a;sandbox',
  'https://a,b',
  "https://a'b",
  'https://a.example;script-src',
  'https://$',
]
const THIS_MACHINE = [
  'https://localhost',
  'http://localhost:8788',
  'https://127.0.0.1',
  'https://127.9.9.9',
  'https://[::1]',
  'https://[::ffff:7f00:1]',
]
const PRIVATE = [
  'https://10.0.0.7',
  'https://172.16.0.1',
  'https://172.31.255.255',
  'https://192.168.1.1:8443',
  'https://100.64.0.1',
  'https://169.254.169.254',
  'https://[fe80::1]',
  'https://[fd00::1]',
  'https://[::ffff:a00:1]',
]
const PUBLIC = [
  'https://shop.example',
  'https://shop.example:8443',
  'https://xn--bcher-kva.example',
  'https://203.0.113.5',
  'https://172.32.0.1',
  'https://[2001:db8::1]',
]

test('rejects for every tenant an origin that is inexact or that no page of its own has', () => {
  for (const origin of NEVER)
    for (const owner of [PRODUCTION, SANDBOX, DEMO])
      assert.ok(checkOrigin(origin, owner), `${origin} ${JSON.stringify(owner)}`)
})

test('allows loopback origins to a demo tenant of the sandbox only', () => {
  for (const origin of THIS_MACHINE) {
    assert.equal(checkOrigin(origin, DEMO), undefined, origin)
    for (const owner of [PRODUCTION, SANDBOX]) assert.ok(checkOrigin(origin, owner), origin)
  }
})

test('allows private addresses in the sandbox only', () => {
  for (const origin of PRIVATE) {
    assert.equal(checkOrigin(origin, SANDBOX), undefined, origin)
    assert.match(checkOrigin(origin, PRODUCTION) ?? '', /private/, origin)
  }
})

test('allows exact public https origins', () => {
  for (const origin of PUBLIC)
    for (const owner of [PRODUCTION, SANDBOX, DEMO])
      assert.equal(checkOrigin(origin, owner), undefined, origin)
})

test('creates no tenant with an origin that is rejected', async () => {
  await using h = await harness()
  const wanted = { name: 'Shop', workflows: WORKFLOWS, ...PRODUCTION }
  await assert.rejects(
    createTenant(h.service, { ...wanted, origins: ['https://*.shop.example'] }),
    OperatorError,
  )
})
