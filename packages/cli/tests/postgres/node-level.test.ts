import assert from 'node:assert/strict'
import { test } from 'node:test'
import { machine } from '../../../../tests/harness/process.ts'
import { runSql } from '../../../store/tests/servers/postgres.ts'
import { postgresDatabase } from '../../../store/tests/servers/test-database.ts'

test('an older node does not serve where a newer feature is in use, and doctor names one that does', async () => {
  const database = await postgresDatabase()
  const { url } = database
  let sending: NodeJS.Timeout | undefined
  try {
    using node = machine({ env: { BONDED_DATABASE_URL: url } })
    assert.equal(node.run('migrate', 'up').status, 0)
    await runSql(url, 'update used_level set level = 1000')
    const { status, stderr } = node.run('serve')
    assert.equal(status, 1, stderr)
    assert.match(stderr, /^error: This version would ignore a feature that is in use/)

    const send = () =>
      runSql(
        url,
        `insert into node_message (node, number, text, level) values ('frozen', 1, 'x', 999)
         on conflict (node, number) do update set sent_at = clock_timestamp()`,
      )
    await send()
    sending = setInterval(() => void send(), 1_000)
    const failed: unknown = await node.jsonMeanwhile('doctor').catch((error: unknown) => error)
    const { findings } = JSON.parse((failed as { stdout: string }).stdout) as {
      findings: readonly { check: string; ok: boolean; says: string }[]
    }
    const found = findings.find(({ check }) => check === 'nodes')
    assert.equal(found?.ok, false, found?.says)
    assert.match(found.says, /a feature that is in use: frozen\. /)
  } finally {
    clearInterval(sending)
    await database.drop()
  }
})
