import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Client } from 'pg'
import { type SurveyedServer, ServerSurvey } from '../src/postgres/server/server-survey.ts'

test('a survey says which of the servers accepts writes', async () => {
  const row = { cluster: '7', timeline: '00000001', started: '1' }
  const client = (accepts_writes: boolean) => ({
    on: () => undefined,
    connect: () => Promise.resolve(),
    query: () => Promise.resolve({ rows: [{ ...row, accepts_writes }] }),
    end: () => Promise.resolve(),
  })
  let found: readonly SurveyedServer[] = []
  using survey = new ServerSurvey({
    hosts: [
      { host: 'standby', port: 5432 },
      { host: 'primary', port: 5432 },
    ],
    newClient: ({ host }) => client(host === 'primary') as unknown as Client,
    found: (servers) => {
      found = servers
    },
  })
  await survey.run()
  assert.deepEqual(
    found.map(({ host, acceptsWrites }) => [host.host, acceptsWrites]),
    [
      ['standby', false],
      ['primary', true],
    ],
  )
})
