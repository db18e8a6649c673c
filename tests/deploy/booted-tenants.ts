import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { must } from './booted-machine.ts'
import type { Operated } from './booted-parts.ts'

const GUIDE = 'operate/tenants.md'

/** The life of a tenant and of its keys, by the guides. */
export async function manageTenants(
  t: TestContext,
  {
    machine: { login },
    take,
    asRoot,
  }: Pick<Operated, 'take' | 'asRoot'> & { readonly machine: Pick<Operated['machine'], 'login'> },
): Promise<void> {
  await t.test(
    'the guides create, change, suspend and remove a tenant, and roll a key',
    async () => {
      const created = await must(asRoot('alice', take(GUIDE, 'tenant create')))
      const [tenant = ''] = /ten_\w+/.exec(created) ?? []
      const [key = ''] = /pk_beta_\w+/.exec(created) ?? []
      const id = { 'ten_…': tenant }
      const show = async () =>
        JSON.parse(await must(login('alice', `sudo bonded tenant show ${tenant} --json`)))

      const file = take(GUIDE, 'tenants:', { ...id, 'pk_beta_…': key })
      const apply = 'cat > tenants.yaml; sudo bonded apply -f - < tenants.yaml'
      assert.match(await must(login('bob', apply, file)), /^ten_\w+  Harbour Bank: changed$/m)
      assert.match(await must(login('bob', apply, file)), /^ten_\w+  Harbour Bank: unchanged$/m)

      await must(asRoot('alice', take(GUIDE, 'preset=agent', id)))
      const { workflows } = await show()
      assert.deepEqual(
        workflows.find(({ name }: { name: string }) => name === 'pay')?.delivery,
        'inbox',
      )
      await must(asRoot('alice', take(GUIDE, '--retention', id)))
      assert.equal((await show()).retention.receipts, 3_650)

      const rolled = await must(
        asRoot('bob', take('operate/keys.md', 'key issue', { ...id, KEY_ID: key })),
      )
      assert.match(rolled, new RegExp(`^publishable_key +pk_beta_\\w+\\n${key} works until `, 'm'))

      const paused = await must(asRoot('alice', take(GUIDE, 'tenant suspend', id)))
      assert.match(
        paused,
        new RegExp(`${tenant} is suspended.*\\n${tenant} is no longer suspended`),
      )
      await must(login('alice', `sudo bonded tenant suspend ${tenant}`))
      await must(asRoot('alice', take(GUIDE, 'tenant remove', id)))
      assert.ok(!(await must(login('alice', 'sudo bonded tenant list'))).includes(tenant))
    },
  )
}
